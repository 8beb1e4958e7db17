# Sourced by the other scripts: build output and tools live outside the repository, so that every clone on a machine
# shares them. REPRISE_BUILD_CACHE moves them.
REPRISE_BUILD_CACHE="${REPRISE_BUILD_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/reprise-build}"
export REPRISE_BUILD_CACHE
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$REPRISE_BUILD_CACHE/target}"
# What scripts/tools installs goes before what the system has.
export PATH="$REPRISE_BUILD_CACHE/tools/python/bin:$REPRISE_BUILD_CACHE/tools/bin:$PATH"
