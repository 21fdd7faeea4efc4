PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE IF NOT EXISTS "kysely_migration" ("name" varchar(255) not null primary key, "timestamp" varchar(255) not null);
INSERT INTO kysely_migration VALUES('0020-initial','2026-11-29T11:45:41.900Z');
INSERT INTO kysely_migration VALUES('0021-causes','2026-11-29T11:45:41.901Z');
INSERT INTO kysely_migration VALUES('0022-secrets','2026-11-29T11:45:41.902Z');
INSERT INTO kysely_migration VALUES('0023-labels','2026-11-29T11:45:41.903Z');
CREATE TABLE IF NOT EXISTS "kysely_migration_lock" ("id" varchar(255) not null primary key, "is_locked" integer default 0 not null);
INSERT INTO kysely_migration_lock VALUES('migration_lock',0);
CREATE TABLE accounts (
    id text primary key, name text not null unique, created_at_ms integer not null,
    balance_nano_credits integer not null check (balance_nano_credits >= held_nano_credits),
    held_nano_credits integer not null check (held_nano_credits >= 0),
    limits text default '' not null, suspended_at_ms integer, deleted_at_ms integer, number integer
  ) strict, without rowid;
INSERT INTO accounts VALUES('acc_01a196fb1601d38fa2fc5c4ee2aa1ba4','acme ü',1793534400001,8999936001,50000,'',NULL,NULL,1);
INSERT INTO accounts VALUES('acc_01a196fb1603dc4120b53b981cdae9f3','poor',1793534400003,0,0,'',NULL,NULL,2);
CREATE TABLE subscriptions (
    account_id text not null references accounts (id), kind text not null check (kind in ('trial', 'plan')),
    starts_at_ms integer not null, ends_at_ms integer not null,
    constraint subscriptions_key primary key (account_id, kind)
  ) strict, without rowid;
INSERT INTO subscriptions VALUES('acc_01a196fb1601d38fa2fc5c4ee2aa1ba4','plan',1793534400005,1801310400005);
INSERT INTO subscriptions VALUES('acc_01a196fb1601d38fa2fc5c4ee2aa1ba4','trial',1793534400004,1794744000004);
INSERT INTO subscriptions VALUES('acc_01a196fb1603dc4120b53b981cdae9f3','trial',1793534400006,1793620800007);
CREATE TABLE api_keys (
    id text primary key, account_id text references accounts (id),
    kind text not null check ((kind = 'admin') = (account_id is null)), name text not null,
    hash text not null unique, last_four text not null, scopes text not null, created_at_ms integer not null,
    expires_at_ms integer, revoked_at_ms integer, limits text default '' not null, origin_id text default '' not null,
    last_used_at_ms integer, number integer, person text default '' not null, subject text default '' not null,
    provider_session text default '' not null
  ) strict, without rowid;
INSERT INTO api_keys VALUES('key_01a196fb160923dffe55deeb3fcf46ca','acc_01a196fb1601d38fa2fc5c4ee2aa1ba4','account','app','hash of app','wxyz','speech chat',1793534400009,NULL,NULL,'','',1793534400000,1,'','','');
INSERT INTO api_keys VALUES('key_01a196fb160b789fc6d87e193b615311',NULL,'admin','boss','hash of boss','wxyz','',1793534400011,NULL,NULL,'','',NULL,2,'','','');
INSERT INTO api_keys VALUES('key_01a196fb160d9095d01802d419e3d6c6','acc_01a196fb1603dc4120b53b981cdae9f3','account','old','hash of old','wxyz','speech chat',1793534400013,1793534400014,1793534400016,'','',NULL,3,'','','');
INSERT INTO api_keys VALUES('key_01a196fb160f337e8030528d81afb636','acc_01a196fb1603dc4120b53b981cdae9f3','account','new','hash of new','wxyz','speech chat',1793534400015,NULL,NULL,'','',NULL,4,'','','');
CREATE TABLE limit_counts (
    owner text not null, unit text not null, period text not null, used integer not null check (used >= 0),
    constraint limit_counts_key primary key (owner, unit, period)
  ) strict, without rowid;
INSERT INTO limit_counts VALUES('acc_01a196fb1601d38fa2fc5c4ee2aa1ba4','fair_use','2026-11',12);
INSERT INTO limit_counts VALUES('key_01a196fb160923dffe55deeb3fcf46ca','characters','2026-11-01',12);
CREATE TABLE kept_answers (
    account_id text not null references accounts (id), operation text not null, key text not null,
    fingerprint text not null, request_id text not null, created_at_ms integer not null, answer blob,
    constraint kept_answers_key primary key (account_id, operation, key)
  ) strict;
INSERT INTO kept_answers VALUES('acc_01a196fb1601d38fa2fc5c4ee2aa1ba4','chat','first','print of first','req_01a196fb1616965cfbd55d01bf4d10a2',1793534400022,X'0102ff');
INSERT INTO kept_answers VALUES('acc_01a196fb1601d38fa2fc5c4ee2aa1ba4','chat','second','print of second','req_01a196fb161de6296f7abc94910dd097',1793534400029,NULL);
CREATE TABLE audit_entries (
    id text primary key, created_at_ms integer not null, actor text not null, action text not null,
    target text not null, details text not null
  ) strict, without rowid;
INSERT INTO audit_entries VALUES('aud_01a196fb1602fb66448c4cc190ccbc5b',1793534400002,'cli','account.create','acc_01a196fb1601d38fa2fc5c4ee2aa1ba4','{"by":"test"}');
INSERT INTO audit_entries VALUES('aud_01a196fb1604df45f0c6877abc4c8dd5',1793534400004,'cli','account.create','acc_01a196fb1603dc4120b53b981cdae9f3','{"by":"test"}');
INSERT INTO audit_entries VALUES('aud_01a196fb1605396e222a926115c68186',1793534400005,'cli','trial.start','a','{"by":"test"}');
INSERT INTO audit_entries VALUES('aud_01a196fb160669129f06826f873f3120',1793534400006,'cli','plan.activate','a','{"by":"test"}');
INSERT INTO audit_entries VALUES('aud_01a196fb1607422c31beb00e808ce74a',1793534400007,'cli','trial.start','a','{"by":"test"}');
INSERT INTO audit_entries VALUES('aud_01a196fb160826bac068896894d9c482',1793534400008,'cli','plan.end','a','{"by":"test"}');
INSERT INTO audit_entries VALUES('aud_01a196fb160a11ed839f58654654abf3',1793534400010,'cli','key.create','key_01a196fb160923dffe55deeb3fcf46ca','{"by":"test"}');
INSERT INTO audit_entries VALUES('aud_01a196fb160c60cf60fd8463c89772d1',1793534400012,'cli','key.create','k','{"by":"test"}');
INSERT INTO audit_entries VALUES('aud_01a196fb160e3a4c1e422675d828f394',1793534400014,'cli','key.create','key_01a196fb160d9095d01802d419e3d6c6','{"by":"test"}');
INSERT INTO audit_entries VALUES('aud_01a196fb1610723bc0ea602d29ac4d4a',1793534400016,'cli','key.rotate','key_01a196fb160d9095d01802d419e3d6c6','{"by":"test"}');
INSERT INTO audit_entries VALUES('aud_01a196fb1611df5cf5ea00bbdd38189e',1793534400017,'cli','key.revoke','key_01a196fb160d9095d01802d419e3d6c6','{"by":"test"}');
INSERT INTO audit_entries VALUES('aud_01a196fb161374da25553e37449d78bd',1793534400019,'cli','credits.load','acc_01a196fb1601d38fa2fc5c4ee2aa1ba4','{"by":"test"}');
INSERT INTO audit_entries VALUES('aud_01a196fb1615c3ddf41dc7da6e920be0',1793534400021,'cli','credits.adjustment','acc_01a196fb1601d38fa2fc5c4ee2aa1ba4','{"by":"test"}');
INSERT INTO audit_entries VALUES('aud_01a196fb161f55cf758e939658bb3ba4',1793534400031,'cli','usage.prune','usage','{"by":"test"}');
INSERT INTO audit_entries VALUES('aud_01a196fb1620960fe234fb7dee20b083',1793534400032,'cli','alerts.set','acc_01a196fb1601d38fa2fc5c4ee2aa1ba4','{"by":"test"}');
CREATE TABLE ended_sessions (
    owner text not null, session text not null, until_ms integer not null,
    constraint ended_sessions_key primary key (owner, session)
  ) strict, without rowid;
INSERT INTO ended_sessions VALUES('key_1','one',1793620800034);
CREATE TABLE alert_settings (
    account_id text primary key references accounts (id), webhook_url text, secret text, percents text not null,
    balance_below integer, webhook_off_at_ms integer
  ) strict, without rowid;
INSERT INTO alert_settings VALUES('acc_01a196fb1601d38fa2fc5c4ee2aa1ba4','https://example.com/ü','whsec_c2VjcmV0','50 100',5000000000,NULL);
CREATE TABLE alert_marks (
    account_id text not null references accounts (id), kind text not null, subject text not null,
    period text not null, basis text not null, threshold integer not null,
    constraint alert_marks_key primary key (account_id, kind, subject)
  ) strict, without rowid;
INSERT INTO alert_marks VALUES('acc_01a196fb1601d38fa2fc5c4ee2aa1ba4','fair_use.used','none','2026-11','1000',50);
INSERT INTO alert_marks VALUES('acc_01a196fb1601d38fa2fc5c4ee2aa1ba4','fair_use.used','pending','2026-11','1000',50);
CREATE TABLE alerts (
    id text primary key, account_id text not null references accounts (id), kind text not null,
    created_at_ms integer not null, details text not null, state text not null, attempts integer not null,
    next_attempt_at_ms integer check ((state = 'pending') = (next_attempt_at_ms is not null)),
    delivered_at_ms integer, last_failure text
  ) strict, without rowid;
INSERT INTO alerts VALUES('alr_01a196fb16219e6548754e7cc2b63bfa','acc_01a196fb1601d38fa2fc5c4ee2aa1ba4','fair_use.used',1793534400033,'{"percent":50,"used":"500","limit":"1000"}','pending',0,1793534400033,NULL,NULL);
INSERT INTO alerts VALUES('alr_01a196fb16229a725e5069877ed0abeb','acc_01a196fb1601d38fa2fc5c4ee2aa1ba4','fair_use.used',1793534400034,'{"percent":50,"used":"500","limit":"1000"}','pending',0,1793534400034,NULL,NULL);
CREATE TABLE waiting_addresses (
    account_id text not null references accounts (id), address text not null, code_hash text, sent_at_ms integer,
    expires_at_ms integer, last_failure text, constraint waiting_addresses_key primary key (account_id, address)
  ) strict, without rowid;
INSERT INTO waiting_addresses VALUES('acc_01a196fb1601d38fa2fc5c4ee2aa1ba4','ü@example.com','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',1793534400032,1793620800032,NULL);
CREATE TABLE policy (version integer not null) strict;
INSERT INTO policy VALUES(6);
CREATE TABLE words (number integer primary key, word text not null unique) strict;
INSERT INTO words VALUES(0,'started');
INSERT INTO words VALUES(1,'debit');
INSERT INTO words VALUES(2,'load');
INSERT INTO words VALUES(3,'adjustment');
INSERT INTO words VALUES(4,'ok');
INSERT INTO words VALUES(5,'refused');
INSERT INTO words VALUES(6,'failed');
INSERT INTO words VALUES(7,'cancelled');
INSERT INTO words VALUES(8,'interrupted');
INSERT INTO words VALUES(9,'replayed');
INSERT INTO words VALUES(10,'reported');
INSERT INTO words VALUES(11,'estimated');
INSERT INTO words VALUES(12,'speech');
INSERT INTO words VALUES(13,'transcription');
INSERT INTO words VALUES(14,'chat');
INSERT INTO words VALUES(15,'catalog');
INSERT INTO words VALUES(16,'account');
INSERT INTO words VALUES(17,'admin');
INSERT INTO words VALUES(18,'none');
INSERT INTO words VALUES(19,'rest');
INSERT INTO words VALUES(20,'connect');
INSERT INTO words VALUES(21,'grpc');
INSERT INTO words VALUES(22,'grpc-web');
INSERT INTO words VALUES(23,'eliza');
INSERT INTO words VALUES(24,'request_cancelled');
INSERT INTO words VALUES(25,'flite');
INSERT INTO words VALUES(26,'upstream_error');
INSERT INTO words VALUES(27,'hears');
INSERT INTO words VALUES(28,'missing_model');
CREATE TABLE usage_rows (
    id blob primary key, account integer not null, key integer not null, operation any not null, model any, wire any not null,
    state any not null, http_status integer, code any, started_at_ms integer not null, first_output_ms integer,
    duration_ms integer, audio_ms_in integer, audio_ms_out integer, characters integer, prompt_tokens integer,
    completion_tokens integer, total_tokens integer, tokens_source any, hold_nano_credits integer not null,
    price_input integer, price_output integer, fair_use_units integer, cost_nano_credits integer,
    overrun_nano_credits integer, cached_tokens integer, cache_write_tokens integer
  , engine any, reserved_nano_credits integer, cause text, end_user text, tags text) strict, without rowid;
INSERT INTO usage_rows VALUES(X'01a196fb161af41fb00fca605d636928',1,1,13,'pocketsphinx',19,6,502,'upstream_error',1793534400026,3,40,2000,NULL,NULL,NULL,NULL,NULL,NULL,0,NULL,NULL,0,NULL,NULL,NULL,NULL,'hears',50000,'{"attempts":[{"engine":"hears","code":"upstream_error","upstreamStatus":503,"upstreamCode":"overloaded","durationMs":40}],"returnedUnits":30}',NULL,NULL);
INSERT INTO usage_rows VALUES(X'01a196fb161b7dd793877756a78d5333',1,1,15,NULL,19,4,200,NULL,1793534400027,3,40,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO usage_rows VALUES(X'01a196fb161ccbd84345aa65e867357b',1,1,14,NULL,19,5,400,'missing_model',1793534400028,3,40,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'ann ü','one,two');
INSERT INTO usage_rows VALUES(X'01a196fb161de6296f7abc94910dd097',1,1,14,23,19,0,NULL,NULL,1793534400029,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,50000,100000000,400000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'ann ü','one,two');
INSERT INTO usage_rows VALUES(X'01a196fb161e26dd96f758131cb43491',1,1,12,25,19,0,NULL,NULL,1793534400030,NULL,NULL,NULL,NULL,12,NULL,NULL,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE ledger_rows (
    account integer not null, id blob not null, kind any not null, amount_nano_credits integer not null, reason any not null,
    reference text, created_at_ms integer not null, primary key (account, id)
  ) strict, without rowid;
INSERT INTO ledger_rows VALUES(1,X'01a196fb16127d09c63f247faa25de93',2,10000000001,'a load – “ü”','load-1',1793534400018);
INSERT INTO ledger_rows VALUES(1,X'01a196fb16140420dd8921613bbdbbdc',3,-1000000000,'a adjustment – “ü”','adjustment-1',1793534400020);
INSERT INTO ledger_rows VALUES(1,X'01a196fb1616965cfbd55d01bf4d10a2',1,-14000,'eliza',NULL,1793534400062);
INSERT INTO ledger_rows VALUES(1,X'01a196fb1618902cb34acfcf4e9b4789',1,-50000,23,NULL,1793534400064);
CREATE TABLE usage_sums (
    day text not null, account_id text not null, key_id text not null, operation text not null, model text not null,
    state text not null, requests integer default 0 not null, characters integer default 0 not null, audio_ms_in integer default 0 not null, audio_ms_out integer default 0 not null, prompt_tokens integer default 0 not null, completion_tokens integer default 0 not null, cached_tokens integer default 0 not null, cache_write_tokens integer default 0 not null, fair_use_units integer default 0 not null, cost_nano_credits integer default 0 not null,
    constraint usage_sums_key primary key (day, account_id, key_id, operation, model, state)
  ) strict, without rowid;
INSERT INTO usage_sums VALUES('2026-11-01','acc_01a196fb1601d38fa2fc5c4ee2aa1ba4','key_01a196fb160923dffe55deeb3fcf46ca','catalog','','ok',1,0,0,0,0,0,0,0,0,0);
INSERT INTO usage_sums VALUES('2026-11-01','acc_01a196fb1601d38fa2fc5c4ee2aa1ba4','key_01a196fb160923dffe55deeb3fcf46ca','chat','','refused',1,0,0,0,0,0,0,0,0,0);
INSERT INTO usage_sums VALUES('2026-11-01','acc_01a196fb1601d38fa2fc5c4ee2aa1ba4','key_01a196fb160923dffe55deeb3fcf46ca','chat','eliza','cancelled',1,0,0,0,20,30,0,0,0,50000);
INSERT INTO usage_sums VALUES('2026-11-01','acc_01a196fb1601d38fa2fc5c4ee2aa1ba4','key_01a196fb160923dffe55deeb3fcf46ca','chat','eliza','ok',1,0,0,0,20,30,0,0,0,14000);
INSERT INTO usage_sums VALUES('2026-11-01','acc_01a196fb1601d38fa2fc5c4ee2aa1ba4','key_01a196fb160923dffe55deeb3fcf46ca','chat','eliza','replayed',1,0,0,0,20,30,0,0,0,0);
INSERT INTO usage_sums VALUES('2026-11-01','acc_01a196fb1601d38fa2fc5c4ee2aa1ba4','key_01a196fb160923dffe55deeb3fcf46ca','speech','flite','ok',1,12,0,1234,0,0,0,0,12,0);
INSERT INTO usage_sums VALUES('2026-11-01','acc_01a196fb1601d38fa2fc5c4ee2aa1ba4','key_01a196fb160923dffe55deeb3fcf46ca','transcription','pocketsphinx','failed',1,0,2000,0,0,0,0,0,0,0);
CREATE TABLE secrets (purpose text primary key, secret text not null) strict, without rowid;
INSERT INTO secrets VALUES('reasoning','IjBQGuUhltsBYWB9ur0S6xGvn__NMAgsNFRS4EM9iSI');
CREATE INDEX api_keys_by_account on api_keys (account_id, id);
CREATE INDEX api_keys_subject on api_keys (subject) where subject <> '';
CREATE INDEX api_keys_provider_session on api_keys (provider_session) where provider_session <> '';
CREATE INDEX kept_answers_by_age on kept_answers (created_at_ms);
CREATE INDEX alerts_by_account on alerts (account_id, id);
CREATE INDEX alerts_pending on alerts (account_id, id) where state = 'pending';
CREATE TRIGGER key_changed after update of name, scopes, expires_at_ms, revoked_at_ms, limits on api_keys begin update policy set version = version + 1; end;
CREATE TRIGGER account_changed after update of name, limits, suspended_at_ms, deleted_at_ms on accounts begin update policy set version = version + 1; end;
CREATE TRIGGER subscription_begun after insert on subscriptions begin update policy set version = version + 1; end;
CREATE TRIGGER subscription_changed after update on subscriptions begin update policy set version = version + 1; end;
CREATE UNIQUE INDEX accounts_by_number on accounts (number);
CREATE TRIGGER accounts_numbered after insert on accounts begin
    update accounts set number = (select coalesce(max(number), 0) + 1 from accounts) where id = new.id; end;
CREATE UNIQUE INDEX api_keys_by_number on api_keys (number);
CREATE TRIGGER api_keys_numbered after insert on api_keys begin
    update api_keys set number = (select coalesce(max(number), 0) + 1 from api_keys) where id = new.id; end;
CREATE INDEX usage_rows_by_account on usage_rows (account, id);
CREATE INDEX usage_rows_open on usage_rows (id) where state = 0;
CREATE UNIQUE INDEX ledger_rows_once on ledger_rows (account, reference) where kind <> 1;
CREATE TRIGGER ledger_rows_stay before update on ledger_rows
    begin select raise(abort, 'ledger entries are never changed'); end;
CREATE TRIGGER ledger_rows_remain before delete on ledger_rows
    begin select raise(abort, 'ledger entries are never removed'); end;
CREATE VIEW ledger_entries as select 'led_' || lower(hex(l.id)) as id, l.id as id_bytes, a.id as account_id,
    case typeof(l.kind) when 'integer' then (select word from words where number = l.kind) else l.kind end as kind, amount_nano_credits, case typeof(l.reason) when 'integer' then (select word from words where number = l.reason) else l.reason end as reason,
    coalesce(l.reference, 'req_' || lower(hex(l.id))) as reference, l.created_at_ms
    from ledger_rows as l join accounts as a on a.number = l.account;
CREATE TRIGGER ledger_entries_insert instead of insert on ledger_entries begin
    
  insert into words (word) select new.reason where new.kind = 'debit' on conflict do nothing;
    insert into ledger_rows (account, id, kind, amount_nano_credits, reason, reference, created_at_ms) values ((select number from accounts where id = new.account_id), unhex(substr(new.id, 5)), coalesce((select number from words where word = new.kind), new.kind), new.amount_nano_credits, case new.kind when 'debit' then coalesce((select number from words where word = new.reason), new.reason) else new.reason end, case when new.kind = 'debit' and substr(new.reference, 5) = substr(new.id, 5) then null else new.reference end, new.created_at_ms); end;
CREATE TRIGGER ledger_entries_update instead of update on ledger_entries
    begin select raise(abort, 'ledger entries are never changed'); end;
CREATE TRIGGER ledger_entries_delete instead of delete on ledger_entries
    begin select raise(abort, 'ledger entries are never removed'); end;
CREATE INDEX usage_sums_by_account on usage_sums (account_id, day);
CREATE INDEX usage_rows_huge on usage_rows (id) where audio_ms_in >= 1099511627776 or audio_ms_out >= 1099511627776 or prompt_tokens >= 1099511627776 or completion_tokens >= 1099511627776 or cached_tokens >= 1099511627776 or cache_write_tokens >= 1099511627776;
CREATE VIEW usage_records as select 'req_' || lower(hex(u.id)) as id, u.id as id_bytes, a.id as account_id,
    (select id from api_keys where number = u.key) as key_id,
    case typeof(u.operation) when 'integer' then (select word from words where number = u.operation) else u.operation end as operation, case typeof(u.model) when 'integer' then (select word from words where number = u.model) else u.model end as model, case typeof(u.wire) when 'integer' then (select word from words where number = u.wire) else u.wire end as wire, case typeof(u.state) when 'integer' then (select word from words where number = u.state) else u.state end as state, case typeof(u.code) when 'integer' then (select word from words where number = u.code) else u.code end as code, case typeof(u.tokens_source) when 'integer' then (select word from words where number = u.tokens_source) else u.tokens_source end as tokens_source, case typeof(u.engine) when 'integer' then (select word from words where number = u.engine) else u.engine end as engine,
    u.http_status, u.started_at_ms, u.first_output_ms, u.duration_ms, u.audio_ms_in, u.audio_ms_out, u.characters, u.prompt_tokens, u.completion_tokens, u.total_tokens, u.hold_nano_credits, u.price_input, u.price_output, u.fair_use_units, u.cost_nano_credits, u.overrun_nano_credits, u.cached_tokens, u.cache_write_tokens, u.reserved_nano_credits, u.cause, u.end_user, u.tags
    from usage_rows as u left join accounts as a on a.number = u.account;
CREATE TRIGGER usage_records_insert instead of insert on usage_records begin
    
  insert into words (word) select new.model where new.model is not null and new.state in ('ok', 'started') on conflict do nothing;
    
  insert into words (word) select new.code where new.code is not null on conflict do nothing; 
  insert into words (word) select new.engine where new.engine is not null on conflict do nothing;
    insert into usage_rows (id, account, key, operation, model, wire, state, code, tokens_source, engine, http_status, started_at_ms, first_output_ms, duration_ms, audio_ms_in, audio_ms_out, characters, prompt_tokens, completion_tokens, total_tokens, hold_nano_credits, price_input, price_output, fair_use_units, cost_nano_credits, overrun_nano_credits, cached_tokens, cache_write_tokens, reserved_nano_credits, cause, end_user, tags) values (unhex(substr(new.id, 5)), (select number from accounts where id = new.account_id), (select number from api_keys where id = new.key_id), coalesce((select number from words where word = new.operation), new.operation), coalesce((select number from words where word = new.model), new.model), coalesce((select number from words where word = new.wire), new.wire), coalesce((select number from words where word = new.state), new.state), coalesce((select number from words where word = new.code), new.code), coalesce((select number from words where word = new.tokens_source), new.tokens_source), coalesce((select number from words where word = new.engine), new.engine), new.http_status, new.started_at_ms, new.first_output_ms, new.duration_ms, new.audio_ms_in, new.audio_ms_out, new.characters, new.prompt_tokens, new.completion_tokens, new.total_tokens, new.hold_nano_credits, new.price_input, new.price_output, new.fair_use_units, new.cost_nano_credits, new.overrun_nano_credits, new.cached_tokens, new.cache_write_tokens, new.reserved_nano_credits, new.cause, new.end_user, new.tags); end;
COMMIT;
