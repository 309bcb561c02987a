"""Programs that depend on the outside world in all known ways, each recorded with a journal.

A `Program` has the files that exist before it is recorded, those that change afterwards, and
`refused`: part of the reason why a re-run diverges, or None if it does not.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

from whence.langs.python.recording_signature import allow
from whence.langs.python.replay.determinism_check import DeterminismReport, check
from whence.langs.python.trace.trace_reader import open_trace

USE = "def use(*values):\n    return values\n"


@dataclass(frozen=True)
class Program:
    """One program and its world."""

    source: str
    refused: str | None = None
    if_refused: str = ""
    """A re-run may also diverge for this reason."""
    stdin: str = ""
    files: dict[str, str] = field(default_factory=dict)
    after: dict[str, str | None] = field(default_factory=dict)
    """What files contain after the recording; None removes the file."""
    variables: dict[str, str] = field(default_factory=dict)
    alone: bool = False
    """It ends the process itself, or reads standard input."""

    @property
    def joins(self) -> bool:
        """Whether it can be one of several programs that run in one process."""
        return not (self.alone or self.refused or self.if_refused or self.stdin)


class World:
    """A home folder with a recorded program, and the recording elsewhere."""

    def __init__(self, folder: Path, program: Program, *options: str):
        self.home, self.recording = folder / "home", folder / "kept" / "run.whence"
        (self.home / "tmp").mkdir(parents=True)
        self.recording.parent.mkdir()
        self.script = folder / "program.py"
        self.script.write_text(USE + textwrap.dedent(program.source))
        for name, content in program.files.items():
            (self.home / name).parent.mkdir(exist_ok=True)
            (self.home / name).write_text(content)
        moved = {"HOME": str(self.home), "TMPDIR": str(self.home / "tmp"), **program.variables}
        words = ["record", "--journal", *options, "-o", str(self.recording), str(self.script)]
        self.ran = subprocess.run(
            [sys.executable, "-m", "whence", *words], cwd=self.home, env={**os.environ, **moved},
            input=program.stdin, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        allow(self.recording)  # after `os._exit` or a kill nobody is left to sign it
        for name, changed in program.after.items():
            if changed is None:
                (self.home / name).unlink()
            else:
                (self.home / name).write_text(changed)

    def state(self) -> dict[str, tuple[int, bytes | None]]:
        """All that is in the home, with its content and the time of its last change."""
        return {
            str(path): (path.lstat().st_mtime_ns, path.read_bytes() if path.is_file() else None)
            for path in sorted(self.home.rglob("*"))
        }

    def check(self) -> DeterminismReport:
        return check(self.recording, open_trace(self.recording), time_limit=30)


PROGRAMS = {
    "time": Program(
        """
        import time
        use(time.time(), time.monotonic(), time.perf_counter_ns())
        time.sleep(0.01)
        use(time.localtime(), time.strftime('%H:%M:%S'), time.ctime(), time.process_time())
        """,
    ),
    "branch on time": Program(
        """
        import time

        def odd():
            pass

        def even():
            pass
        for i in range(20):
            (odd if time.time_ns() // 100 % 2 else even)()
        """,
    ),
    "datetime": Program(
        """
        import datetime as d
        use(d.datetime.now(), d.date.today(), d.datetime.now(d.timezone.utc).isoformat())
        import zoneinfo
        """,
    ),
    "utcnow, which warns": Program(
        """
        import datetime, time, warnings

        def shown(message, category, *place):
            use(str(message), category, time.time())
        warnings.simplefilter('always')
        warnings.showwarning = shown
        use(datetime.datetime.utcnow(), time.time())
        warnings.simplefilter('error')
        try:
            use(datetime.datetime.utcnow())
        except DeprecationWarning as error:
            use(str(error), time.time())
        warnings.resetwarnings()
        """,
    ),
    "utcnow, which prints its warning": Program(
        """
        import datetime, time
        use(datetime.datetime.utcnow(), time.time())
        use(datetime.datetime.utcnow(), time.time())
        """,
    ),
    "memory and interpreter statistics": Program(
        """
        import gc, sys, tracemalloc
        tracemalloc.start()
        use(sys.getallocatedblocks(), gc.get_stats(), gc.get_count())
        use(tracemalloc.get_traced_memory(), tracemalloc.get_tracemalloc_memory())
        tracemalloc.stop()
        gc.freeze()
        use(gc.get_freeze_count())
        gc.unfreeze()
        """
    ),
    "the machine and its users": Program(
        """
        import grp, os, pwd, signal, socket, time, threading
        use(os.sysconf('SC_AVPHYS_PAGES'), os.getpriority(os.PRIO_PROCESS, 0))
        use(os.sched_getaffinity(0), socket.if_nameindex())
        use(pwd.getpwuid(0), pwd.getpwall(), grp.getgrgid(0), grp.getgrall())
        for function, argument in (
            (pwd.getpwnam, 'nobody of this name'),
            (grp.getgrnam, 'nobody of this name'),
            (socket.if_nametoindex, 'none'),
            (socket.getservbyname, 'http'),
            (socket.getprotobyname, 'tcp'),
        ):
            try:
                use(function(argument))
            except (KeyError, OSError) as error:
                use(type(error), str(error))
        try:
            use(os.getlogin())
        except OSError as error:
            use(str(error))
        signal.setitimer(signal.ITIMER_REAL, 1000)
        use(signal.getitimer(signal.ITIMER_REAL))
        signal.setitimer(signal.ITIMER_REAL, 0)
        use(time.pthread_getcpuclockid(threading.get_ident()))
        """
    ),
    "random bytes of ssl": Program(
        """
        import ssl
        use(ssl.RAND_bytes(8), ssl.RAND_status())
        """
    ),
    "ctypes": Program(
        """
        import ctypes
        use(ctypes.CDLL(None).getpid())
        """,
        refused="It uses ctypes",
    ),
    "random numbers and the clock by ctypes": Program(
        """
        import ctypes
        libc = ctypes.CDLL(None)
        buffer = ctypes.create_string_buffer(8)
        libc.getrandom(buffer, 8, 0)
        use(buffer.raw, libc.time(None))
        """,
        refused="It uses ctypes",
    ),
    "ctypes without the outside world": Program(
        """
        import ctypes
        use(ctypes.CDLL(None).strlen(b'abc'), ctypes.c_int(3).value)
        """
    ),
    "a database in memory that picks a random number": Program(
        """
        import sqlite3
        use(sqlite3.connect(':memory:').execute('select random()').fetchall())
        """,
        refused="It uses sqlite3",
    ),
    "the clock as numpy reads it": Program(
        """
        import time, numpy
        use(str(numpy.datetime64('now')), str(numpy.datetime64('now')) < '2020')
        """,
        if_refused="numpy",
    ),
    "a module that is written, imported, written and reloaded": Program(
        """
        import importlib, os, sys
        sys.dont_write_bytecode = True
        sys.path.insert(0, os.getcwd())
        open('written.py', 'w').write('V = 1')
        import written
        use(written.V)
        open('written.py', 'w').write('V = 2222')
        use(importlib.reload(written).V)
        """,
        refused="Changed since it was recorded: written.py",
    ),
    "a module that is written, imported and removed": Program(
        """
        import os, sys
        sys.dont_write_bytecode = True
        sys.path.insert(0, os.getcwd())
        open('written.py', 'w').write('V = 1')
        import written
        use(written.V)
        os.unlink('written.py')
        """,
        refused="Removed since it was imported: written.py",
    ),
    "random": Program(
        """
        import random
        use(random.random(), random.sample(range(100), 5))
        r = random.Random()
        use(r.random())
        use(random.SystemRandom().random())
        random.seed()
        use(random.random())
        """,
    ),
    "random order of calls": Program(
        """
        import random

        def a():
            pass

        def b():
            pass
        for i in range(50):
            random.choice([a, b])()
        """,
    ),
    "secrets and urandom": Program(
        """
        import os, secrets
        use(os.urandom(8), secrets.token_hex(), secrets.randbelow(1000))
        """,
    ),
    "uuid": Program(
        """
        import uuid
        use(str(uuid.uuid1()), str(uuid.uuid4()))
        """,
    ),
    "sets of texts": Program(
        """
        words = {f'w{i}' for i in range(50)}
        for w in words:
            use(w)
        """,
    ),
    "dicts of texts": Program(
        """
        d = {w: len(w) for w in {'a', 'bb', 'ccc', 'dddd'}}
        for k, v in d.items():
            use(k, v)
        """,
    ),
    "sets of objects": Program(
        """
        class T:

            def __init__(self, n):
                self.n = n
        for t in {T(i) for i in range(40)}:
            use(t.n)
        """,
    ),
    "id order": Program(
        """
        class T:

            def __init__(self, n):
                self.n = n
        ts = [T(i) for i in range(30)]
        for t in sorted(ts, key=id):
            use(t.n)
        use(id(ts) % 1000)
        """,
    ),
    "file read": Program(
        """
        use(open('data.txt').read())
        use([l for l in open('data.txt')])
        use(open('data.txt', 'rb').read(3))
        """,
        files={"data.txt": "one\ntwo\n"},
        after={"data.txt": "changed!\n"},
    ),
    "file gone": Program(
        """
        use(open('data.txt').read())
        """,
        files={"data.txt": "one\n"},
        after={"data.txt": None},
    ),
    "write and read back": Program(
        """
        with open('out.txt', 'w') as f:
            f.write('x' * 10)
        use(open('out.txt').read())
        with open('out.txt', 'a') as f:
            f.write('more')
        use(open('out.txt').read())
        with open('out.txt', 'r+') as f:
            f.seek(3)
            f.write('Y')
            f.seek(0)
            use(f.read())
        """,
    ),
    "pathlib": Program(
        """
        from pathlib import Path
        p = Path('d')
        p.mkdir()
        (p / 'a').write_text('1')
        (p / 'b').write_text('2')
        use(sorted((x.name for x in p.iterdir())))
        use((p / 'a').read_text(), (p / 'a').exists(), (p / 'zz').exists())
        (p / 'a').unlink()
        (p / 'b').rename(p / 'c')
        use([x.name for x in p.glob('*')])
        use((p / 'c').read_text())
        """,
    ),
    "rmtree": Program(
        """
        import shutil, os
        os.makedirs('t/u/v')
        open('t/u/f', 'w').write('1')
        shutil.copy('t/u/f', 't/g')
        use(open('t/g').read())
        use(list(os.walk('t')))
        shutil.rmtree('t')
        use(os.path.exists('t'))
        """,
    ),
    "temp files": Program(
        """
        import tempfile, os
        with tempfile.NamedTemporaryFile('w+') as f:
            f.write('abc')
            f.flush()
            f.seek(0)
            use(f.read(), f.name)
        with tempfile.TemporaryDirectory() as d:
            open(os.path.join(d, 'x'), 'w').write('y')
            use(os.listdir(d), d)
        fd, n = tempfile.mkstemp()
        os.write(fd, b'hi')
        os.lseek(fd, 0, 0)
        use(os.read(fd, 9))
        os.close(fd)
        os.remove(n)
        with tempfile.TemporaryFile() as f:
            f.write(b'1')
            f.seek(0)
            use(f.read())
        """,
    ),
    "listdir and scandir": Program(
        """
        import os
        use(os.listdir('.'))
        for e in os.scandir('.'):
            use(e.name, e.is_file(), e.is_dir(follow_symlinks=False), e.stat().st_size)
        use(os.stat('.').st_mtime_ns, os.getcwd())
        """,
        after={"extra.txt": "new"},
    ),
    "file times": Program(
        """
        import os
        open('f', 'w').close()
        use(os.stat('f').st_mtime, os.stat('f').st_ino)
        os.utime('f', (1, 2))
        use(os.stat('f').st_mtime)
        """,
    ),
    "missing files": Program(
        """
        import os
        for n in ('nope', 'no/pe'):
            try:
                open(n)
            except OSError as e:
                use(type(e).__name__, str(e), e.errno, e.filename)
        try:
            os.mkdir('.')
        except FileExistsError as e:
            use(str(e))
        """,
        after={"nope": "now it is there"},
    ),
    "subprocess": Program(
        """
        import subprocess, sys
        use(subprocess.run(['date', '+%N'], capture_output=True, text=True).stdout)
        use(subprocess.check_output('echo $$', shell=True))
        words = [sys.executable, '-c', 'import sys; print(sys.stdin.read()[::-1])']
        r = subprocess.run(words, input='abc', capture_output=True, text=True)
        use(r.stdout, r.returncode)
        open('made', 'w').close()
        use(subprocess.call(['rm', 'made']))
        """,
    ),
    "subprocess that fails": Program(
        """
        import subprocess
        try:
            subprocess.run(['/no/such'])
        except FileNotFoundError as e:
            use(str(e))
        use(subprocess.run('exit 3', shell=True).returncode)
        import os
        use(os.system('true'))
        use(os.popen('echo x; date +%N').read())
        """,
    ),
    "fork": Program(
        """
        import os
        r, w = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.write(w, str(os.getpid()).encode())
            os._exit(3)
        os.close(w)
        use(os.read(r, 99))
        use(os.waitpid(pid, 0))
        """,
    ),
    "environment": Program(
        """
        import os
        use(os.environ.get('HOME'), os.environ.get('WHENCE_TEST_VARIABLE'), sorted(os.environ)[:3])
        """,
        variables={"WHENCE_TEST_VARIABLE": "then"},
    ),
    "stdin lines": Program(
        """
        import sys
        for line in sys.stdin:
            use(line)
        """,
        stdin="a\nb\nc\n",
    ),
    "input": Program(
        """
        use(input('? '))
        use(input())
        try:
            input()
        except EOFError:
            use('end')
        """,
        stdin="a\nb\n",
    ),
    "stdin whole": Program(
        """
        import sys
        use(sys.stdin.read(), sys.stdin.isatty())
        """,
        stdin="long\n" * 5000,
    ),
    "pid and host": Program(
        """
        import os, socket, resource
        use(os.getpid(), os.getppid(), socket.gethostname(), resource.getrusage(0)[:2])
        use(os.times(), os.getloadavg())
        """,
    ),
    "thread joined": Program(
        """
        import threading, time

        def work(n):
            use(n, time.time())
        for i in range(3):
            t = threading.Thread(target=work, args=(i,))
            t.start()
            t.join()
        """,
    ),
    "threads at once": Program(
        """
        import threading, time
        lock = threading.Lock()

        def step(n, i):
            return n * i

        def work(n):
            for i in range(200):
                step(n, i)
                time.sleep(0.0001)
        ts = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        [t.start() for t in ts]
        [t.join() for t in ts]
        """,
        refused="Threads ran",
    ),
    "thread pool": Program(
        """
        from concurrent.futures import ThreadPoolExecutor
        import os

        def work(n):
            return (n, os.urandom(2))
        with ThreadPoolExecutor(1) as e:
            use(list(e.map(work, range(5))))
        """,
        if_refused="Threads ran",  # whether the thread is idle is asked
    ),
    "asyncio": Program(
        """
        import asyncio, random

        async def work(n):
            await asyncio.sleep(random.random() / 100)
            use(n)
            return n

        async def main():
            return await asyncio.gather(*(work(i) for i in range(10)))
        use(asyncio.run(main()))
        """,
    ),
    "asyncio subprocess": Program(
        """
        import asyncio

        async def main():
            p = await asyncio.create_subprocess_exec('date', '+%N', stdout=asyncio.subprocess.PIPE)
            out, _ = await p.communicate()
            use(out, p.returncode)
        asyncio.run(main())
        """,
        if_refused="Threads ran",  # up to 3.11 one waits for the process
    ),
    "socket pair": Program(
        """
        import socket
        a, b = socket.socketpair()
        a.sendall(b'hello')
        use(b.recv(9))
        a.close()
        use(b.recv(9))
        """,
    ),
    "server and client": Program(
        """
        import socket, threading, os
        s = socket.create_server(('127.0.0.1', 0))
        port = s.getsockname()[1]
        use(port > 0)
        c = socket.create_connection(('127.0.0.1', port))
        d, addr = s.accept()
        use(addr)
        c.sendall(b'hi')
        use(d.recv(10))
        d.sendall(os.urandom(3))
        use(c.recv(10))
        f = c.makefile('rb')
        d.sendall(b'line\\n')
        use(f.readline())
        d.close()
        use(f.read())
        c.close()
        s.close()
        """,
    ),
    "select": Program(
        """
        import select, os
        r, w = os.pipe()
        use(len(select.select([r], [w], [], 0)[1]))
        os.write(w, b'x')
        use(select.select([r], [], [], 1)[0] == [r])
        p = select.poll()
        p.register(r, select.POLLIN)
        use(len(p.poll(10)))
        use(os.read(r, 1))
        """,
    ),
    "weak references and garbage": Program(
        """
        import gc, weakref

        class N:

            def __del__(self):
                gone(self.n)

        def gone(n):
            pass
        for i in range(3000):
            a, b = (N(), N())
            a.n = b.n = i
            a.o, b.o = (b, a)
        """,
    ),
    "garbage among files": Program(
        """
        import os, random, time

        class Pair:

            def __init__(self, n):
                self.n = n

            def __del__(self):
                gone(self.n)

        def gone(n):
            pass
        open('f', 'w').write('text')
        for i in range(1500):
            a, b = Pair(i), Pair(-i)
            a.other, b.other = b, a
            if i % 50 == 0:
                use(open('f').read(), time.time(), os.listdir('.'), random.Random().random())
        """,
    ),
    "dev urandom": Program(
        """
        use(open('/dev/urandom', 'rb').read(4))
        use(open('/proc/self/stat').read()[:5])
        """,
    ),
    "addresses in texts": Program(
        """
        class T:
            pass
        use(repr(T()))
        """,
        refused="address of an object",
    ),
    "sqlite file": Program(
        """
        import sqlite3
        c = sqlite3.connect('x.db')
        c.execute('create table if not exists t(a)')
        c.execute('insert into t values(1)')
        c.commit()
        use(c.execute('select count(*) from t').fetchall())
        """,
        refused="sqlite3.connect",
    ),
    "sqlite memory": Program(
        """
        import sqlite3
        c = sqlite3.connect(':memory:')
        use(c.execute('select 1').fetchall())
        """,
    ),
    "multiprocessing": Program(
        """
        import multiprocessing as m

        def w(n):
            return n * n
        if __name__ == '__main__':
            with m.Pool(2) as pool:
                use(pool.map(w, range(4)))
        """,
        refused="multiprocessing",
    ),
    "signal to itself": Program(
        """
        import os, signal

        def h(n, f):
            use(n)
        signal.signal(signal.SIGUSR1, h)
        os.kill(os.getpid(), signal.SIGUSR1)
        use('after')
        """,
    ),
    "cwd": Program(
        """
        import os
        os.mkdir('sub')
        os.chdir('sub')
        use(os.getcwd())
        open('f', 'w').write('1')
        use(os.path.abspath('f'), open('f').read())
        os.chdir('..')
        os.remove('sub/f')
        os.rmdir('sub')
        """,
    ),
    "generated module": Program(
        """
        import sys, os
        open('gen_mod.py', 'w').write('def g(): return 5\\n')
        sys.path.insert(0, os.getcwd())
        import gen_mod
        use(gen_mod.g())
        """,
    ),
    "logging to file": Program(
        """
        import logging
        logging.basicConfig(filename='log.txt', format='%(asctime)s %(process)d %(message)s')
        logging.warning('hi')
        logging.shutdown()
        use(open('log.txt').read())
        """,
    ),
    "mmap": Program(
        """
        import mmap
        f = open('m', 'wb+')
        f.write(b'abcdef')
        f.flush()
        m = mmap.mmap(f.fileno(), 6)
        use(m[:3])
        m[0:1] = b'Z'
        m.close()
        f.seek(0)
        use(f.read())
        """,
    ),
    "os level files": Program(
        """
        import os
        fd = os.open('o', os.O_CREAT | os.O_RDWR | os.O_EXCL, 384)
        os.write(fd, b'data')
        os.lseek(fd, 0, 0)
        use(os.read(fd, 10), os.fstat(fd).st_size)
        os.close(fd)
        os.replace('o', 'p')
        use(open('p').read())
        os.unlink('p')
        """,
    ),
    "csv and json": Program(
        """
        import csv, json
        csv.writer(open('c.csv', 'w')).writerows([[1, 2], [3, 4]])
        use(list(csv.reader(open('c.csv'))))
        json.dump({'a': 1}, open('j', 'w'))
        use(json.load(open('j')))
        """,
    ),
    "zip and gzip": Program(
        """
        import zipfile, gzip, shutil
        with zipfile.ZipFile('z.zip', 'w') as z:
            z.writestr('a', 'text')
        use(zipfile.ZipFile('z.zip').read('a'))
        gzip.open('g.gz', 'wb').write(b'1' * 99)
        use(gzip.open('g.gz').read())
        """,
    ),
    "raises at the end": Program(
        """
        import time
        use(time.time())
        raise ValueError(time.time())
        """,
        alone=True,
    ),
    "exit status": Program(
        """
        import sys, random
        use(random.random())
        sys.exit(3)
        """,
        alone=True,
    ),
    "os._exit": Program(
        """
        import os, time
        use(time.time())
        os._exit(4)
        """,
        alone=True,
    ),
    "profile of hash": Program(
        """
        use(hash('abc'), hash(object()) % 7)
        """,
    ),
    "atexit file": Program(
        """
        import atexit, os, time

        def bye():
            open('bye', 'w').write(str(time.time()))
            use(os.listdir('.'))
        atexit.register(bye)
        """,
        alone=True,
    ),
    "del at shutdown": Program(
        """
        import os
        open('keep', 'w').close()

        class K:

            def __init__(self):
                self.u = os.unlink

            def __del__(self):
                self.u('keep')
        k = K()
        """,
        alone=True,
    ),
}
if sys.version_info >= (3, 14):
    PROGRAMS["other interpreters"] = Program(
        """
        from concurrent import interpreters

        def made():
            other = interpreters.create()
            other.exec("print(sum(len(x) for x in ([n] for n in range(9))))")
            other.close()
            return use(4)
        made()
        """,
        refused="other interpreters",
    )
