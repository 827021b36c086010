"""Copies an array into other chunks on Spark: `spark-submit spark_plan.py SOURCE TARGET`. Started again, it goes on with what is missing."""

import sys

from pyspark.sql import SparkSession

import zarrkit


def main(source, target):
    plan = zarrkit.plan_copy(source, target, chunks=(50, 50), parts=8, resume=True)
    plan.begin()
    missing = plan.missing()
    spark = SparkSession.builder.appName("zarrkit").getOrCreate()
    spark.sparkContext.parallelize(missing, max(1, len(missing))).foreach(plan.run)
    plan.finish()
    print(f"{len(missing)} of {plan.parts} parts were copied")


if __name__ == "__main__":
    main(*sys.argv[1:])
