"""What a run was measured on: processors, memory, its copy bandwidth, large pages."""
import ctypes, mmap, os, threading, time


def first(path, start, otherwise="unknown"):
    try:
        with open(path) as file:
            return next((l.split(":", 1)[1].strip() for l in file if l.startswith(start)), otherwise)
    except OSError:
        return otherwise


def copy_bandwidth(threads, size=64 << 20, rounds=5):
    """Gigabytes copied a second by so many threads, each between two buffers that no cache holds: the best of some rounds. A byte that is copied is
    read once and written once."""
    pairs = [(ctypes.create_string_buffer(size), ctypes.create_string_buffer(size)) for _ in range(threads)]
    for to, since in pairs:
        ctypes.memset(to, 1, size)
        ctypes.memset(since, 2, size)
    best = 0
    for _ in range(rounds):
        work = [threading.Thread(target=ctypes.memmove, args=(to, since, size)) for to, since in pairs]
        begin = time.perf_counter()
        for t in work:
            t.start()
        for t in work:
            t.join()
        best = max(best, size * threads / (time.perf_counter() - begin))
    return best / 1e9


def touch(size):
    """Writes so many bytes of fresh memory and frees them. The host of a virtual machine may take free memory back; the first process that asks for it
    then pays some 3 s a GiB, the next ones 0.15. So all pay the same if each starts right after this."""
    pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    pages.madvise(mmap.MADV_HUGEPAGE)
    memory = (ctypes.c_char * size).from_buffer(pages)
    ctypes.memset(memory, 1, size)
    del memory
    pages.close()


def describe():
    """The record that a results file begins with."""
    cores = os.cpu_count()
    try:
        with open("/sys/kernel/mm/transparent_hugepage/enabled") as file:
            pages = file.read().split("[")[1].split("]")[0]
    except OSError:
        pages = "unknown"
    memory = int(first("/proc/meminfo", "MemTotal", "0 kB").split()[0]) >> 20
    return dict(set="machine", what=f"{first('/proc/cpuinfo', 'model name')}, {cores} cores, {memory} GiB, Linux {os.uname().release}", copy=[round(copy_bandwidth(n), 2) for n in sorted({1, cores})], pages=pages)
