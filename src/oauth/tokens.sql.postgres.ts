import { CLIENT_COLUMNS } from './tokens.store.rows.ts';

/**
 * Each takes a batch as arrays, one for each column, and all but one answer a row for each of its items, in their order.
 *
 * What changes something locks its agents first, in the order of their identifiers, so that batches which share some
 * wait for each other and never in a circle. `(select count(*) from locked)` is how a part of a statement waits for
 * all of the locks: the parts run in no order of their own. Each part sees what was committed before the statement;
 * an update alone sees, once it has waited for a row, what became of it. So a claim is an update.
 */

export const FIND_CLIENTS = `select ${CLIENT_COLUMNS}, organizations.jwt_expiry_secs, living.secrets
    from unnest($1::text[], $2::bigint[]) with ordinality as wanted (client_id, now, place)
    left join agents on agents.client_id = wanted.client_id
    left join organizations on organizations.id = agents.organization_id
    cross join lateral (
      select coalesce(json_agg(json_build_object('id', id, 'digest', digest, 'expires_at', expires_at,
          'last_used_at', last_used_at) order by id), '[]') as secrets
      from client_secrets
      where agent_id = coalesce(agents.id, '') and (expires_at is null or expires_at > wanted.now)
    ) as living
    order by wanted.place`;

export const FIND_REFRESH_TOKENS = `select refresh_tokens.*, client_secrets.expires_at as secret_expires_at, ${CLIENT_COLUMNS},
      organizations.jwt_expiry_secs, revoked_tokens.id as revoked_id
    from unnest($1::bigint[]) with ordinality as wanted (id, place)
    left join (refresh_tokens join client_secrets on client_secrets.id = refresh_tokens.client_secret_id)
      on refresh_tokens.id = wanted.id
    left join agents on agents.id = client_secrets.agent_id
    left join organizations on organizations.id = agents.organization_id
    left join revoked_tokens on revoked_tokens.id = refresh_tokens.grant_id
    order by wanted.place`;

/** A row for each agent that is there, one at least, each with all that is revoked: two scans cost less than a join for each. */
export const FIND_STATES = `select ${CLIENT_COLUMNS}, revoked.ids as revoked_ids
    from (select array(select id from revoked_tokens where id = any($2::text[])) as ids) as revoked
    left join agents on agents.id = any($1::text[])`;

const LOCKED = `locked as materialized (
    select id from agents where id = any ($1::text[]) order by id for no key update)`;

const ALL_LOCKED = '(select count(*) from locked) >= 0';

/** The sequence gives the identifiers beforehand, so that each is known to be of which item. */
const INSERTED = `inserted as (
    insert into refresh_tokens
      (id, client_secret_id, digest, grant_id, sequence, token_epoch, scopes, issued_at, expires_at)
    select id, client_secret_id, digest, grant_id, sequence, token_epoch, scopes, now, expires_at from tokens)`;

const NEXT_ID = "nextval('refresh_tokens_id_seq') as id";

export const ISSUE = `with grants as materialized (
      select * from unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::text[],
        $8::int[], $9::int[], $10::text[], $11::bigint[]) with ordinality as grants (agent_id, now, newest_secret_id,
        used_secret_id, client_secret_id, digest, grant_id, sequence, token_epoch, scopes, expires_at, place)),
    ${LOCKED},
    counted as (
      update agents set token_count = token_count + batch.tokens, last_activity_at = batch.now,
        secret_used_at = coalesce(batch.secret_used_at, agents.secret_used_at)
      from (select agent_id, count(*) as tokens, max(now) as now, max(now) filter (where exists (
          select from client_secrets where id = newest_secret_id and expires_at is null)) as secret_used_at
        from grants group by agent_id) as batch
      where agents.id = batch.agent_id and ${ALL_LOCKED}),
    touched as (
      update client_secrets set last_used_at = batch.now
      from (select used_secret_id, max(now) as now from grants join locked on locked.id = agent_id
        where used_secret_id is not null group by used_secret_id) as batch
      where client_secrets.id = batch.used_secret_id and ${ALL_LOCKED}),
    tokens as materialized (
      select grants.*, ${NEXT_ID} from grants join locked on locked.id = agent_id where digest is not null),
    ${INSERTED}
    select locked.id is not null as is_present, tokens.id as refresh_token_id
    from grants left join locked on locked.id = grants.agent_id left join tokens on tokens.place = grants.place
    order by grants.place`;

export const CLAIM = `with claims as materialized (
      select * from unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::text[],
        $8::int[], $9::int[], $10::text[], $11::bigint[]) with ordinality as claims (agent_id, now, claimed_id,
        remember_until, client_secret_id, digest, grant_id, sequence, token_epoch, scopes, expires_at, place)),
    ${LOCKED},
    won as materialized (
      update refresh_tokens set used_at = first.now
      from (select distinct on (claimed_id) claimed_id, now, place from claims order by claimed_id, place) as first
      where refresh_tokens.id = first.claimed_id and refresh_tokens.used_at is null and ${ALL_LOCKED}
      returning first.place),
    counted as (
      update agents set token_count = token_count + batch.tokens, refresh_count = refresh_count + batch.tokens,
        last_activity_at = batch.now
      from (select agent_id, count(*) as tokens, max(now) as now from claims join won using (place) group by agent_id)
        as batch
      where agents.id = batch.agent_id),
    tokens as materialized (select claims.*, ${NEXT_ID} from claims join won using (place)),
    ${INSERTED},
    revoked as (
      insert into revoked_tokens (id, expires_at)
      select grant_id, max(remember_until) from claims where place not in (select place from won)
      group by grant_id order by grant_id collate "C"
      on conflict (id) do nothing)
    select tokens.id as refresh_token_id from claims left join tokens on tokens.place = claims.place
    order by claims.place`;

export const REVOKE = `insert into revoked_tokens (id, expires_at)
    select id, expires_at from unnest($1::text[], $2::bigint[]) as revoked (id, expires_at) order by id collate "C"
    on conflict (id) do nothing returning id`;
