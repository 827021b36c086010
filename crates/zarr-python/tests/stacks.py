"""Says where a process stands that a test waits for in vain."""

import itertools
import os
import signal
import struct
import subprocess
import time

#: How many bytes of the stack are looked through for addresses of functions, and how many of these are told.
STACK, MAX_ADDRESSES = 16 << 10, 40


def where(process, frames):
    """What the process waits for: the system's words, Python's frames, and what its stack holds of native functions.

    `frames` is the file to which it writes those of Python when SIGUSR1 reaches it (`faulthandler.register`).
    """
    os.kill(process, signal.SIGUSR1)
    # All of it is there when nothing came since the last look; a process that cannot be interrupted writes nothing.
    sizes = [0, 0]
    while len(sizes) < 100 and not sizes[-2] == sizes[-1] > 0:
        time.sleep(0.02)
        sizes.append(os.fstat(frames.fileno()).st_size)
    frames.seek(0)
    parts = [f"the machine's load is {os.getloadavg()}", frames.read().decode() or "Python's frames were not written"]
    for name in ("stat", "wchan", "syscall", "stack"):
        parts.append(f"{name}: {process_file(process, name).strip()}")
    return "\n".join([*parts, *native_functions(process)])


def process_file(process, name):
    try:
        with open(f"/proc/{process}/{name}") as text:
            return text.read()
    except OSError as error:
        return str(error)


def native_functions(process):
    """The functions whose addresses are on the stack, from the innermost: frames, and some that have been left already."""
    words = process_file(process, "syscall").split()
    try:
        stack, address = int(words[-2], 16), int(words[-1], 16)
        with open(f"/proc/{process}/mem", "rb", buffering=0) as memory:
            memory.seek(stack)
            held = memory.read(STACK)
    except (IndexError, ValueError, OSError) as error:
        return [f"the stack cannot be read: {error}"]
    addresses = [address, *(word for (word,) in struct.iter_unpack("<Q", held[: len(held) // 8 * 8]))]
    found = (line for address in addresses for line in function_at(process, address))
    return list(itertools.islice(found, MAX_ADDRESSES))


def function_at(process, address):
    for line in process_file(process, "maps").splitlines():
        places, rights, offset, _, _, *path = line.split(maxsplit=5)
        start, end = (int(place, 16) for place in places.split("-"))
        if start <= address < end and "x" in rights and path:
            offset = address - start + int(offset, 16)
            return [f"{path[0]}+{offset:#x}: {symbol(path[0], offset)}"]
    return []


def symbol(path, offset):
    """The function at this place of a library, if `addr2line` finds it."""
    try:
        said = subprocess.run(["addr2line", "-Cfe", path, hex(offset)], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return " ".join(said.stdout.split("\n")).strip()
