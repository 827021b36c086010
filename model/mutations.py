#!/usr/bin/env python3
"""Shows that the model checker notices what is taken out of the code: `model/mutations.py [WORK]`.

Each mutation is one change of a copy of the sources: a lock that is not taken, a wake-up that is not sent, a second look that is not made. The
model is built over the copy, and must fail. It prints a line for each, and fails when one is not noticed, or when the text that it changes is
no longer in the sources.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
CORE, STORES = "crates/zarr-core/src/", "crates/zarr-stores/src/"

# Where, what, what instead, and the protocol that must notice.
MUTATIONS = [
    ("a waiting thread is not woken", CORE + "sync.rs", "waiting.iter().for_each(Thread::unpark);", "drop(waiting);", "condition"),
    ("a thread waits before it is noted", CORE + "sync.rs", "lock(&self.0).push(thread::current());\n        drop(locked);",
     "drop(locked);\n        lock(&self.0).push(thread::current());", "condition"),
    ("a lock is taken while the process forks", CORE + "fork.rs", "while CLOSED.load(Ordering::SeqCst) {", "while false {", "forks"),
    ("the fork does not wait for locks", CORE + "fork.rs", "while others() > 0 {", "while false {", "forks"),
    ("bytes come back, and no thread is woken", CORE + "codec/budget.rs", "RETURNED.notify_all();", "", "budget"),
    ("bytes are taken that are not left", CORE + "codec/budget.rs", "while budget.held > 0 &&", "while false &&", "budget"),
    ("the place of the last writer stays taken", CORE + "array/key_queue.rs", "queue.remove(&self.0);", "", "goes to one writer"),
    ("a place goes to a writer that gave up", CORE + "array/key_queue.rs", "Some(Err(place)) => std::mem::forget(place),",
     "Some(Err(place)) => return std::mem::forget(place),", "give up"),
    ("a state replaces one that it does not follow", CORE + "array/latest_state.rs", "compare_and_swap(before, state.clone())",
     "compare_and_swap(&self.get(), state.clone())", "never grows older"),
    ("dropped work is not noted", CORE + "store/abandoned.rs", "all.push(Abandoned {", "Vec::new().push(Abandoned {", "dropped change"),
    ("work begins after its caller went away", CORE + "store/abandoned.rs", "if !matches!(*stage, Stage::Waiting) {", "if false {", "dropped change"),
    ("two threads compare at the same time", CORE + "store/process_cas.rs", "let _lock = self.lock(key);", "", "compare-and-swap"),
    ("a lock of a file that is gone counts", STORES + "filesystem/lock.rs", "if guards? {", "if guards? || true {", "folder"),
    ("a lock file that another process holds is removed", STORES + "filesystem/tidy.rs", "Err(TryLockError::WouldBlock) => return true,",
     "Err(TryLockError::WouldBlock) => {}", "folder"),
    ("a lock file that came later is removed", STORES + "filesystem/tidy.rs", "if is_still_at(&folder.join(LOCK), file).unwrap_or(false) {",
     "if true {", "come and go"),
    ("no lock file is removed", STORES + "filesystem/tidy.rs", "let _ = lock::unlink(folder);", "", "folder"),
]


def copy_sources(work):
    """The model, and the sources that it compiles; the crates on which it depends stay where they are."""
    for part in ("model", CORE, STORES):
        shutil.copytree(TOP / part, work / part, dirs_exist_ok=True)
    manifest = (TOP / "Cargo.toml").read_text()
    before, _, after = manifest.partition("members = [")
    after = after.partition("]")[2]
    after = after.replace('{ path = "crates/', f'{{ path = "{TOP}/crates/')
    (work / "Cargo.toml").write_text(before + 'members = ["model"]' + after)
    shutil.copy(TOP / "Cargo.lock", work)


def cargo(work, *arguments, **environment):
    command = ["cargo", "test", "--quiet", "-p", "zarr-model", "--target-dir", str(TOP / "target" / "mutations"), *arguments]
    return subprocess.run(command, cwd=work, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def main(work):
    shutil.rmtree(work, ignore_errors=True)
    copy_sources(work)
    built = cargo(work)
    if built.returncode:
        sys.exit(built.stdout[-4000:] + "\nthe model fails without a mutation")
    missed = 0
    for name, file, old, new, protocol in MUTATIONS:
        path = work / file
        text = path.read_text()
        if text.count(old) != 1:
            sys.exit(f"{file} has `{old}` {text.count(old)} times: the mutation `{name}` is to be written anew")
        path.write_text(text.replace(old, new))
        built = cargo(work, "--no-run")
        if built.returncode:
            sys.exit(f"{built.stdout[-4000:]}\n`{name}` does not compile")
        ran = cargo(work, ZARR_MODEL="3000", ZARR_MODEL_ONLY=protocol, RUST_BACKTRACE="0")
        missed += ran.returncode == 0
        print(f"model: mutation: {name}: {'NOT NOTICED' if ran.returncode == 0 else 'noticed'}", flush=True)
        path.write_text(text)
    print(f"model: {len(MUTATIONS) - missed} of {len(MUTATIONS)} mutations are noticed")
    sys.exit(missed > 0)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else TOP / "scratch" / "mutations"))
