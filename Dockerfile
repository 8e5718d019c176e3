# One image for every service of docker-compose.yml; which process a container is, its command says.
FROM debian:12 AS build
RUN apt-get update && apt-get install -y --no-install-recommends \
	gcc libc6-dev cmake ninja-build pkg-config libh2o-evloop-dev libssl-dev libpq-dev libsodium-dev \
	libjwt-dev libprotobuf-c-dev protobuf-c-compiler libjansson-dev libpcre2-dev libyaml-dev libev-dev \
	libboost-context1.74-dev libseccomp-dev libutf8proc-dev libyajl-dev
COPY . /src
RUN cmake -S /src -B /build -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DBOARDWALK_TESTS=OFF \
	&& ninja -C /build && /src/docker/install /build /opt/boardwalk

FROM debian:12
# The server's package is told to make no cluster of its own.
RUN apt-get update && apt-get install -y --no-install-recommends postgresql-common \
	&& echo 'create_main_cluster = false' >>/etc/postgresql-common/createcluster.conf \
	&& apt-get install -y --no-install-recommends postgresql-15 libh2o-evloop0.13 libssl3 libpq5 \
	libsodium23 libjwt0 libprotobuf-c1 libjansson4 libpcre2-8-0 libyaml-0-2 libev4 libseccomp2 libutf8proc2 libyajl2 \
	&& rm -rf /var/lib/apt/lists/*
RUN useradd --system --user-group --uid 10000 --no-create-home --shell /usr/sbin/nologin boardwalk \
	&& useradd --system --user-group --uid 10001 --no-create-home --shell /usr/sbin/nologin boardwalk-gateway \
	&& useradd --system --user-group --uid 10002 --no-create-home --shell /usr/sbin/nologin boardwalk-auth \
	&& useradd --system --user-group --uid 10003 --no-create-home --shell /usr/sbin/nologin boardwalk-repo
# A named volume begins as the folder it is mounted over: auth and repo make their sockets, the gateway
# may walk to them, nobody else may. The gateway's own is for the owner, who alone writes what is installed.
RUN install -d -o 10000 -g 10000 -m 700 /var/lib/boardwalk/postgresql \
	&& install -d -o 10001 -g 10001 -m 700 /var/lib/boardwalk/spool \
	&& install -d -o 10002 -g 10001 -m 750 /run/boardwalk/auth \
	&& install -d -o 10003 -g 10001 -m 750 /run/boardwalk/repo \
	&& install -d -o 10001 -g 10001 -m 711 /run/boardwalk/gateway \
	&& install -d -o 10000 -g 10000 -m 755 /var/lib/boardwalk/bundles
COPY --from=build /opt/boardwalk /opt/boardwalk
ENV PATH=/opt/boardwalk/bin:/usr/bin:/bin LC_ALL=C.UTF-8
