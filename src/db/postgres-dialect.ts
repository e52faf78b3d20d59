import {
  type DataTypeNode,
  PostgresAdapter,
  PostgresDialect,
  type PostgresPoolClient,
  PostgresQueryCompiler,
  type QueryCompiler,
} from 'kysely';

/** Kysely's PostgreSQL dialect over connections that `connect` hands out. */
export class SignetPostgresDialect extends PostgresDialect {
  constructor(connect: () => Promise<PostgresPoolClient>) {
    super({ pool: { connect, end: async () => {}, options: {} } });
  }

  override createQueryCompiler(): QueryCompiler {
    return new BytewisePostgresCompiler();
  }

  override createAdapter(): PostgresAdapter {
    return new WithinTransactionAdapter();
  }
}

/**
 * Text columns compare byte by byte, as they do on SQLite: identifiers sort by their time of creation, and a page goes
 * on where the one before ended, whatever the locale of the database is.
 */
class BytewisePostgresCompiler extends PostgresQueryCompiler {
  protected override visitDataType(node: DataTypeNode): void {
    super.visitDataType(node);
    const isColumn = this.parentNode?.kind === 'ColumnDefinitionNode';
    if (isColumn && node.dataType === 'text') this.append(' collate "C"');
  }
}

/** Migrations run in one transaction that holds its own lock: the migrator is to begin and to lock nothing more. */
class WithinTransactionAdapter extends PostgresAdapter {
  override get supportsTransactionalDdl(): boolean {
    return false;
  }

  override async acquireMigrationLock(): Promise<void> {}

  override async releaseMigrationLock(): Promise<void> {}
}
