#!/usr/bin/env bash
#SBATCH --job-name=zarr-copy
#SBATCH --array=1-8
#SBATCH --ntasks=1
# Copies an array into other chunks by the jobs of a Slurm array, one part each, and writes the documents after the last:
#
#     job=$(sbatch --parsable slurm_array.sh SOURCE TARGET)
#     sbatch --dependency="afterok:$job" --array=1 slurm_array.sh SOURCE TARGET --finish
#
# A job that failed is submitted again as it was: what it had written is not written again.
set -euo pipefail
program=${ZARRKIT:-zarrkit}
if [[ ${3:-} == --finish ]]; then
    exec $program copy "$1" "$2" --finish
fi
exec $program copy "$1" "$2" --chunks 50,50 --part "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT"
