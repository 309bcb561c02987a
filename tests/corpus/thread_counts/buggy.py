"""Counts words of several texts in a thread, and sums them up."""
import queue
import threading

TEXTS = {
    "one": "The rain falls, and the river grows.",
    "two": "A river is a road; the road is wet",
    "three": "Rain, rain and wind. Then the river. The road grows",
}


def clean(word):
    return word.lower().strip(",;")


def words_of(text):
    return [clean(word) for word in text.split() if clean(word)]


def count(words):
    counts = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    return counts


def merge(total, counts):
    for word, number in counts.items():
        total[word] = total.get(word, 0) + number
    return total


def work(jobs, results):
    while True:
        job = jobs.get()
        if job is None:
            return
        name, text = job
        results.put((name, count(words_of(text))))


def run(texts):
    jobs, results = queue.SimpleQueue(), queue.SimpleQueue()
    for job in texts.items():
        jobs.put(job)
    jobs.put(None)
    thread = threading.Thread(target=work, args=(jobs, results))
    thread.start()
    thread.join()
    return [results.get() for _ in texts]


def most_common(counts, number):
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:number]


def main():
    total = {}
    for name, counts in run(TEXTS):
        print(f"{name:<6}{len(counts):>3} words")
        merge(total, counts)
    for word, number in most_common(total, 6):
        print(number, word)
    print(len(total), "in all")


if __name__ == "__main__":
    main()
