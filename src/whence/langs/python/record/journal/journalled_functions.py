"""The functions through which a program reaches the outside world, and how each is noted.

The number of a kind is its index in the table, and the heading of a journal quotes the table: a
journal that was written with another table is not played.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from whence.langs.python.record.journal import _interposition

HANDLED, OF_FILE, OF_DESCRIPTOR, FILLS, SENDS, NOT_IMPORTS = 1, 2, 4, 8, 16, 32
OF_PATH, FORKS, STARTS_THREAD, ANY_ARGUMENTS, NOT_KEPT, NOTED = 64, 128, 256, 512, 1024, 2048
SIGNALS, PICKS, WARNS = 1 << 16, 1 << 17, 1 << 18
_PATH = OF_PATH | NOT_IMPORTS


def _fewer(count: int) -> int:
    """Note only calls with fewer arguments: with all of them the clock is not read."""
    return count << 12


# For each namespace: how its functions are noted (native/interposition.h explains the bits), and
# their names.
_TABLE: tuple[tuple[str, int, str], ...] = (
    ("time", 0, "time time_ns monotonic monotonic_ns perf_counter perf_counter_ns process_time "
     "process_time_ns thread_time thread_time_ns clock_gettime clock_gettime_ns sleep"),
    ("time", ANY_ARGUMENTS, "pthread_getcpuclockid"),
    ("time", _fewer(1), "localtime gmtime ctime asctime"),
    ("time", _fewer(2), "strftime"),
    ("builtins", ANY_ARGUMENTS | NOT_IMPORTS, "id"),
    ("builtins", 0, "input"),
    ("gc", 0, "get_count get_stats get_threshold set_threshold get_freeze_count"),
    ("sys", 0, "getallocatedblocks getunicodeinternedsize"),
    ("_tracemalloc", 0, "get_traced_memory get_tracemalloc_memory"),
    ("_signal", 0, "getitimer"),
    ("posix", 0, "urandom getrandom getppid times getloadavg cpu_count sched_getaffinity "
     "uname wait wait3 wait4 waitpid waitid system posix_spawn posix_spawnp killpg "
     "get_terminal_size ttyname nice getpgid getpgrp getsid fstatvfs "
     "getlogin getpriority sysconf"),
    ("posix", FORKS, "fork"),
    ("posix", SIGNALS, "kill"),
    ("posix", _PATH, "stat lstat listdir access readlink statvfs mkdir rmdir unlink remove rename "
     "replace link symlink chmod lchmod chown lchown utime truncate mkfifo mknod getxattr setxattr "
     "listxattr removexattr chdir fchdir"),
    ("posix", NOT_IMPORTS, "getpid getcwd getcwdb fstat"),
    ("posix", NOT_IMPORTS | NOTED, "scandir open"),
    ("posix", 0, "pidfd_open"),
    ("posix", OF_DESCRIPTOR, "read pread lseek isatty ftruncate fsync fdatasync fchmod fchown "
     "posix_fallocate posix_fadvise sendfile copy_file_range splice"),
    ("posix", OF_DESCRIPTOR | SENDS, "write"),
    ("posix", OF_DESCRIPTOR | NOT_KEPT, "readv preadv readinto"),
    ("posix", NOT_KEPT | NOT_IMPORTS, "statx"),
    ("posix", OF_DESCRIPTOR, "writev pwrite pwritev"),
    ("posix.DirEntry", ANY_ARGUMENTS, "is_dir is_file is_symlink stat inode is_junction"),
    ("_io.FileIO", OF_FILE | FILLS, "readinto"),
    ("_io.FileIO", OF_FILE | SENDS | NOT_IMPORTS, "write"),
    ("_io.FileIO", OF_FILE, "read readall seek tell truncate isatty seekable"),
    ("_posixsubprocess", ANY_ARGUMENTS, "fork_exec"),
    ("_random.Random", 0, "seed"),
    ("_uuid", 0, "generate_time_safe"),
    ("_datetime.datetime", ANY_ARGUMENTS, "now"),
    ("_datetime.datetime", ANY_ARGUMENTS | WARNS, "utcnow"),
    ("select", PICKS | ANY_ARGUMENTS, "select"),
    ("select.poll()", 0, "poll"),
    ("select.epoll", 0, "poll"),
    ("_socket", 0, "gethostname gethostbyname gethostbyname_ex gethostbyaddr getaddrinfo "
     "getnameinfo if_nameindex if_nametoindex if_indextoname getservbyname getservbyport "
     "getprotobyname"),
    ("_socket.socket", 0, "connect connect_ex bind listen _accept recv recvfrom recvmsg shutdown "
     "getpeername getsockname getsockopt setsockopt"),
    ("_socket.socket", SENDS, "send sendall"),
    ("_socket.socket", ANY_ARGUMENTS, "sendto sendmsg"),
    ("_socket.socket", FILLS, "recv_into"),
    ("_socket.socket", NOT_KEPT, "recvfrom_into recvmsg_into"),
    ("_ssl", 0, "RAND_bytes RAND_status"),
    ("_ssl._SSLContext", NOT_KEPT | ANY_ARGUMENTS, "_wrap_socket _wrap_bio"),
    ("pwd", 0, "getpwuid getpwnam getpwall"),
    ("grp", 0, "getgrgid getgrnam getgrall"),
    ("resource", 0, "getrusage"),
    ("fcntl", OF_DESCRIPTOR, "ioctl"),
    ("_thread", STARTS_THREAD, "start_new_thread start_joinable_thread start_new"),
    ("_imp", HANDLED, "create_dynamic exec_dynamic create_builtin exec_builtin"),
)  # fmt: skip

_OTHERS = ("FileIO()", "next(scandir)", "random at the start")
"""Kinds that are no functions of a module or class."""


def _names() -> Iterator[str]:
    for namespace, _, words in _TABLE:
        for word in words.split():
            yield f"{namespace}.{word}"
    yield from _OTHERS


KINDS = tuple(_names())
NUMBERS: Mapping[str, int] = {name: number for number, name in enumerate(KINDS)}
OPEN, FILE, SCANDIR, NEXT = (
    NUMBERS[name] for name in ("posix.open", "FileIO()", "posix.scandir", "next(scandir)")
)
RANDOM_AT_START = NUMBERS["random at the start"]

_PUBLIC_NAMES = {"posix": "os", "_io": "io", "_random": "random", "_datetime": "datetime",
           "_socket": "socket", "builtins": "", "FileIO()": "open"}  # fmt: skip


def public_name(kind: str) -> str:
    """The public name of a kind: `os.stat`, `time.time`."""
    first, _, rest = kind.partition(".")
    module = _PUBLIC_NAMES.get(first, first)
    return ".".join(part for part in (module, rest) if part)


Handler = Callable[[Callable[..., Any], Any, tuple[Any, ...], dict[str, Any]], Any]


class InterposedFunctions:
    """The interposed functions, with those of modules that are imported later."""

    def __init__(self, handlers: Mapping[str, Handler], imports: Callable[[str], object] = str):
        self._imports = imports
        """Called with the name of each extension module that is imported."""
        self._handlers = {
            **handlers,
            "_imp.create_dynamic": self._imported,
            "_imp.exec_dynamic": self._imported,
            "_imp.create_builtin": self._imported,
            "_imp.exec_builtin": self._imported,
        }

    def exchange_all(self) -> None:
        """Exchange the functions of all modules that are loaded."""
        for module in {namespace.partition(".")[0] for namespace, _, _ in _TABLE}:
            if module in sys.modules:
                self._exchange(module)

    def _exchange(self, module: str) -> None:
        for namespace, how, words in _TABLE:
            if namespace.partition(".")[0] == module:
                self._exchange_words(namespace, how, words)

    def _exchange_words(self, namespace: str, how: int, words: str) -> None:
        holder = _namespace(namespace)
        members = {} if holder is None else vars(holder)
        for word in words.split():
            kind = f"{namespace}.{word}"
            handler = self._handlers.get(kind)
            if word in members:
                bits = how | (HANDLED if handler is not None else 0)
                _interposition.exchange(members[word], NUMBERS[kind], bits, handler)

    def _imported(
        self,
        original: Callable[..., Any],
        _: Any,
        arguments: tuple[Any, ...],
        keywords: dict[str, Any],
    ) -> Any:
        result = _interposition.outside(original, *arguments, **keywords)
        for module in (*arguments, result):
            name = getattr(module, "__name__", None) or getattr(module, "name", None)
            if type(name) is not str:
                continue
            self._imports(name)
            if name in _MODULES and name in sys.modules:
                self._exchange(name)
            elif name in _MODULES and type(module) is type(sys):
                self._exchange_of(name, module)
        return result

    def _exchange_of(self, name: str, module: Any) -> None:
        """Exchange the functions of a module that is not in `sys.modules` yet."""
        sys.modules[name] = module
        try:
            self._exchange(name)
        finally:
            del sys.modules[name]


_MODULES = {namespace.partition(".")[0] for namespace, _, _ in _TABLE}


def _namespace(namespace: str) -> Any:
    """The module or class that a namespace of the table names, if it is loaded completely."""
    module, _, rest = namespace.partition(".")
    holder: Any = sys.modules.get(module) or importlib.import_module(module)
    if rest == "poll()":
        # The functions of a module that is not executed yet exist but cannot be called.
        return type(holder.poll()) if hasattr(holder, "POLLIN") else None
    return getattr(holder, rest, None) if rest else holder
