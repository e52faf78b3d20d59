import type { AuditAction, Change, Fields } from '../audit/entry.ts';
import type { Administrator } from './administrator.ts';
import { toAdministratorView } from './administrators.schema.ts';

export const administratorAddition = (administrator: Administrator): Change => ({
  ...told('administrator.added', administrator),
  after: fieldsOf(administrator),
});

/** A password is an entry of its own: it has no before and after that may be read. */
export function administratorChanges(before: Administrator, after: Administrator): Change[] {
  const place = { organizationId: after.organizationId ?? before.organizationId };
  const changed = { ...told('administrator.changed', after), ...place };
  const changes = [{ ...changed, before: fieldsOf(before), after: fieldsOf(after) }];
  if (after.passwordHash === before.passwordHash) return changes;
  return [...changes, { ...told('administrator.password_changed', after), ...place }];
}

/** Their API keys go with them, without entries of their own. */
export const administratorRemoval = (administrator: Administrator): Change => ({
  ...told('administrator.removed', administrator),
  before: fieldsOf(administrator),
});

const told = (action: AuditAction, { id, email, organizationId }: Administrator): Change => ({
  action,
  target: { kind: 'administrator', id, name: email },
  organizationId,
});

function fieldsOf(administrator: Administrator): Fields {
  const { id, ...fields } = toAdministratorView(administrator);
  return fields;
}
