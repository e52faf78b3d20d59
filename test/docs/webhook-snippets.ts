import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Block } from './markdown.ts';
import type { ReceivedRequest } from './webhook-receiver.ts';

const run = promisify(execFile);

export interface Snippet {
  name: string;
  /** What the machine must have for it. */
  tool: string;
  /** `authentic`, or why it refuses. */
  verdict(folder: string, request: ReceivedRequest, secret: string): Promise<string>;
}

const NODE_DRIVER = `
  const { body, headers, secret } = JSON.parse(process.env.CASE);
  const { verify } = await import(process.argv[1]);
  try {
    const event = verify(Buffer.from(body, 'base64'), headers, secret);
    console.log(event.id === headers['webhook-id'] ? 'authentic' : 'another event');
  } catch (error) {
    console.log(error.message);
  }`;

const PYTHON_DRIVER = `
import base64, json, os
from verify import verify
case = json.loads(os.environ["CASE"])
try:
    event = verify(base64.b64decode(case["body"]), case["headers"], case["secret"])
    print("authentic" if event["id"] == case["headers"]["webhook-id"] else "another event")
except ValueError as error:
    print(error)`;

const GO_DRIVER = `package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
)

func main() {
	var given struct {
		Body    []byte
		Headers map[string]string
		Secret  string
	}
	if err := json.Unmarshal([]byte(os.Getenv("CASE")), &given); err != nil {
		panic(err)
	}
	header := http.Header{}
	for name, value := range given.Headers {
		header.Set(name, value)
	}
	if err := Verify(given.Body, header, given.Secret); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("authentic")
}
`;

const inNode = (name: string): Snippet => ({
  name,
  tool: 'node',
  verdict: (folder, request, secret) =>
    output(process.execPath, ['--input-type=module', '-e', NODE_DRIVER, join(folder, name)], {
      cwd: folder,
      env: { CASE: caseOf(request, secret) },
    }),
});

export const snippets: readonly Snippet[] = [
  inNode('verify.mjs'),
  inNode('verify-plain.mjs'),
  {
    name: 'verify.py',
    tool: 'python3',
    verdict: (folder, request, secret) =>
      output('python3', ['-B', '-c', PYTHON_DRIVER], {
        cwd: folder,
        env: { CASE: caseOf(request, secret) },
      }),
  },
  {
    name: 'verify.go',
    tool: 'go',
    verdict(folder, request, secret) {
      writeFileSync(join(folder, 'main.go'), GO_DRIVER);
      return output('go', ['run', 'main.go', 'verify.go'], {
        cwd: folder,
        env: { CASE: caseOf(request, secret), GOCACHE: join(folder, 'go-cache'), GO111MODULE: 'off' },
      });
    },
  },
  {
    name: 'verify.sh',
    tool: 'openssl',
    verdict(folder, { headers, body }, secret) {
      writeFileSync(join(folder, 'body'), body);
      const env = {
        WEBHOOK_SECRET: secret,
        WEBHOOK_ID: headers['webhook-id'] ?? '',
        WEBHOOK_TIMESTAMP: headers['webhook-timestamp'] ?? '',
        WEBHOOK_SIGNATURE: headers['webhook-signature'] ?? '',
      };
      return output('sh', ['verify.sh', 'body'], { cwd: folder, env });
    },
  },
];

/** Why a snippet cannot run on this machine, or false. */
export function missingTool({ tool }: Snippet): string | false {
  const argument = tool === 'openssl' || tool === 'go' ? 'version' : '--version';
  return spawnSync(tool, [argument]).error === undefined ? false : `there is no ${tool} here`;
}

export interface SnippetFolder {
  path: string;
  remove(): void;
}

/** Saves the blocks whose first line names a file. */
export function saveBlocks(blocks: readonly Block[]): SnippetFolder {
  const path = mkdtempSync(join(tmpdir(), 'signet-snippets-'));
  for (const { text } of blocks) {
    const name = fileName(text);
    if (name !== null) writeFileSync(join(path, name), text);
  }
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

export const fileName = (text: string): string | null => /^(?:#|\/\/) (\S+\.\w+)\n/.exec(text)?.[1] ?? null;

const caseOf = ({ body, headers }: ReceivedRequest, secret: string): string =>
  JSON.stringify({ body: body.toString('base64'), headers, secret });

/** What a program says; one that refuses may end with 1, and anything else is a failure of its own. */
async function output(
  command: string,
  argumentsOf: readonly string[],
  { cwd, env }: { cwd: string; env: Record<string, string> },
): Promise<string> {
  try {
    const { stdout } = await run(command, argumentsOf, { cwd, env: { ...process.env, ...env } });
    return stdout.trim();
  } catch (error) {
    const { code, stdout } = error as { code: unknown; stdout: string };
    if (code === 1 && stdout !== '') return stdout.trim();
    throw error;
  }
}
