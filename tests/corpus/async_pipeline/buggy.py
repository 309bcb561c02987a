"""Jobs that may fail once, worked off by a pipeline of tasks."""
import asyncio


class Job:
    def __init__(self, name, size, fails=0):
        self.name = name
        self.size = size
        self.fails = fails
        self.tries = 0

    def run(self):
        self.tries += 1
        if self.tries <= self.fails:
            raise OSError(f"{self.name} failed")
        return self.size * 10


def jobs():
    return [Job("scan", 2), Job("copy", 5, fails=1), Job("pack", 1), Job("send", 3, fails=2)]


async def attempt(job, most):
    """The result of a job that is tried at most so often."""
    for number in range(most):
        await asyncio.sleep(0)
        try:
            return job.run()
        except OSError:
            if number == most - 2:
                return None
    return None


async def work(queue, results):
    while not queue.empty():
        job = queue.get_nowait()
        results[job.name] = await attempt(job, most=3)


def summary(results):
    done = {name: value for name, value in results.items() if value is not None}
    failed = sorted(set(results) - set(done))
    return sum(done.values()), failed


async def pipeline(todo):
    queue = asyncio.Queue()
    for job in todo:
        queue.put_nowait(job)
    results = {}
    await asyncio.gather(work(queue, results), work(queue, results))
    return results


def main():
    results = asyncio.run(pipeline(jobs()))
    total, failed = summary(results)
    for name in sorted(results):
        print(f"{name:<6}{results[name]}")
    print("total", total, "failed", failed or "none")


if __name__ == "__main__":
    main()
