"""Copies an array into other chunks on a Ray cluster: `ray_plan.py SOURCE TARGET`. Started again, it goes on with what is missing."""

import sys

import ray

import zarrkit


@ray.remote(max_retries=3)
def run(plan, part):
    plan.run(part)


def main(source, target):
    plan = zarrkit.plan_copy(source, target, chunks=(50, 50), parts=8, resume=True)
    plan.begin()
    missing = plan.missing()
    ray.get([run.remote(plan, part) for part in missing])
    plan.finish()
    print(f"{len(missing)} of {plan.parts} parts were copied")


if __name__ == "__main__":
    main(*sys.argv[1:])
