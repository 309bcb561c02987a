"""Fills a small sudoku of four rows."""

SIZE = 4


def parse(text):
    return [[0 if sign == "." else int(sign) for sign in line] for line in text.split()]


def row_of(board, row):
    return set(board[row])


def column_of(board, column):
    return {board[row][column] for row in range(SIZE)}


def box_of(board, row, column):
    top, left = row - row % 2, column - column % 2
    return {board[top + i][left + j] for i in range(2) for j in range(2)}


def choices(board, row, column):
    taken = row_of(board, row) | column_of(board, column) | box_of(board, row, column)
    return [number for number in range(1, SIZE + 1) if number not in taken]


def first_empty(board):
    for row in range(SIZE):
        for column in range(SIZE):
            if board[row][column] == 0:
                return row, column
    return None


def solve(board):
    place = first_empty(board)
    if place is None:
        return True
    row, column = place
    for number in choices(board, row, column):
        board[row][column] = number
        if solve(board):
            return True
    return False


def show(board):
    return ["".join(str(number or ".") for number in row) for row in board]


def puzzle(text):
    board = parse(text)
    return show(board) if solve(board) else ["no solution"]


def main():
    print("\n".join(puzzle("1... ..3. .4.. ...2")))
    print("\n".join(puzzle("12.. .... ..3. ...4")))


if __name__ == "__main__":
    main()
