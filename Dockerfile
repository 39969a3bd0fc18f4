# The same packages as tools/setup/environment.sh installs, for those who have Docker.
#   docker build -t upsweep . && docker run --rm upsweep [ARGS...]
#   docker build -t upsweep-test --target test . && docker run --rm upsweep-test
FROM debian:forky-slim AS base
COPY tools/setup/packages-run.txt /packages/
RUN apt-get update \
    && sed 's/#.*//' /packages/packages-run.txt \
    | DEBIAN_FRONTEND=noninteractive xargs apt-get install -y --no-install-recommends \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src

FROM base AS test
COPY tools/setup/packages-test.txt /packages/
RUN apt-get update \
    && sed 's/#.*//' /packages/packages-test.txt \
    | DEBIAN_FRONTEND=noninteractive xargs apt-get install -y --no-install-recommends \
    && rm -rf /var/lib/apt/lists/*
COPY . .
ENTRYPOINT ["./test"]

# Last, so that it is the one built when no target is named.
FROM base AS run
COPY . .
# Builds the program, so that a container starts at once.
RUN ./run --help
ENTRYPOINT ["./run"]
