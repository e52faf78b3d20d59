# The service in a container: docs/operations.md says how to run it, and what of this file was tried.
#
# Two stages. The first has npm, which the service does not need once its packages are there. The second has no Node of
# its own: the service runs on the one that package-lock.json pins, which npm has put among the packages and whose hash
# it has checked. So the tests and the container run the same binary, and there is one place that says which. It is built
# for glibc, which is why neither stage is Alpine.

FROM node:24-bookworm-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts

FROM debian:bookworm-slim
ENV NODE_ENV=production \
    PATH=/app/node_modules/.bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    SIGNET_HOST=0.0.0.0 \
    SIGNET_DATA_DIR=/data
# The official builds of Node 26 need libatomic, which Debian's slim image lacks.
RUN apt-get update \
  && apt-get install --yes --no-install-recommends libatomic1 \
  && rm -rf /var/lib/apt/lists/*
# The program belongs to root and is only read; the data folder is all that the service may write.
RUN install --directory --owner=10001 --group=10001 --mode=0700 /data
WORKDIR /app
COPY --from=packages /app/node_modules ./node_modules
COPY package.json ./
COPY bin ./bin
COPY migrations ./migrations
COPY src ./src
# A library that is missing fails the build, not the first start.
RUN node bin/signet.mjs --version
# A number, so that Kubernetes can see that it is not root.
USER 10001:10001
VOLUME /data
EXPOSE 8080
# The process, not the database: starting it again would not mend that. Balancers ask /readyz.
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.SIGNET_PORT ?? 8080}/livez`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "bin/signet.mjs"]
CMD ["serve"]
