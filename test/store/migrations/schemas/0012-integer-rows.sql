PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE IF NOT EXISTS "kysely_migration" ("name" varchar(255) not null primary key, "timestamp" varchar(255) not null);
INSERT INTO kysely_migration VALUES('0001-initial','2026-11-23T09:39:23.829Z');
INSERT INTO kysely_migration VALUES('0002-debits-by-request','2026-11-23T09:39:23.851Z');
INSERT INTO kysely_migration VALUES('0003-usage-rollups','2026-11-23T09:39:23.856Z');
INSERT INTO kysely_migration VALUES('0004-policy-version','2026-11-23T09:39:23.857Z');
INSERT INTO kysely_migration VALUES('0006-limits','2026-11-23T09:39:23.884Z');
INSERT INTO kysely_migration VALUES('0008-alerts','2026-11-23T09:39:23.895Z');
INSERT INTO kysely_migration VALUES('0010-ended-sessions','2026-11-23T09:39:23.905Z');
INSERT INTO kysely_migration VALUES('0011-fair-use-counts','2026-11-23T09:39:23.906Z');
INSERT INTO kysely_migration VALUES('0012-integer-rows','2026-11-23T13:00:18.884Z');
CREATE TABLE IF NOT EXISTS "kysely_migration_lock" ("id" varchar(255) not null primary key, "is_locked" integer default 0 not null);
INSERT INTO kysely_migration_lock VALUES('migration_lock',0);
CREATE TABLE IF NOT EXISTS "accounts" ("id" text primary key, "name" text not null unique, "created_at_ms" integer not null, "balance_nano_credits" integer not null check (balance_nano_credits >= held_nano_credits), "held_nano_credits" integer not null check (held_nano_credits >= 0), "limits" text default '' not null, "suspended_at_ms" integer, "deleted_at_ms" integer, "number" integer) strict, without rowid;
INSERT INTO accounts VALUES('acc_01a196fb1601ebe487bd37aa40f12d12','acme ü',1793534400001,8999936001,50000,'',NULL,NULL,1);
INSERT INTO accounts VALUES('acc_01a196fb1603ce3e7ebee83a3b24d6f6','poor',1793534400003,0,0,'',NULL,NULL,2);
CREATE TABLE IF NOT EXISTS "subscriptions" ("account_id" text not null references "accounts" ("id"), "kind" text not null check (kind in ('trial', 'plan')), "starts_at_ms" integer not null, "ends_at_ms" integer not null, constraint "subscriptions_key" primary key ("account_id", "kind")) strict, without rowid;
INSERT INTO subscriptions VALUES('acc_01a196fb1601ebe487bd37aa40f12d12','plan',1793534400005,1801310400005);
INSERT INTO subscriptions VALUES('acc_01a196fb1601ebe487bd37aa40f12d12','trial',1793534400004,1794744000004);
INSERT INTO subscriptions VALUES('acc_01a196fb1603ce3e7ebee83a3b24d6f6','trial',1793534400006,1793620800007);
CREATE TABLE IF NOT EXISTS "api_keys" ("id" text primary key, "account_id" text references "accounts" ("id"), "kind" text not null check ((kind = 'admin') = (account_id is null)), "name" text not null, "hash" text not null unique, "last_four" text not null, "scopes" text not null, "created_at_ms" integer not null, "expires_at_ms" integer, "revoked_at_ms" integer, "limits" text default '' not null, "origin_id" text default '' not null, "last_used_at_ms" integer, "number" integer) strict, without rowid;
INSERT INTO api_keys VALUES('key_01a196fb16090da6ef4c9e272ec608d6','acc_01a196fb1601ebe487bd37aa40f12d12','account','app','hash of app','wxyz','speech chat',1793534400009,NULL,NULL,'','',1793534400000,1);
INSERT INTO api_keys VALUES('key_01a196fb160b96d2404cb178028ec0cb',NULL,'admin','boss','hash of boss','wxyz','',1793534400011,NULL,NULL,'','',NULL,2);
INSERT INTO api_keys VALUES('key_01a196fb160d9bee2437f96d6b8603e2','acc_01a196fb1603ce3e7ebee83a3b24d6f6','account','old','hash of old','wxyz','speech chat',1793534400013,1793534400014,1793534400016,'','',NULL,3);
INSERT INTO api_keys VALUES('key_01a196fb160fa10826e15c4510fa9605','acc_01a196fb1603ce3e7ebee83a3b24d6f6','account','new','hash of new','wxyz','speech chat',1793534400015,NULL,NULL,'','',NULL,4);
CREATE TABLE IF NOT EXISTS "usage_records" ("id" text primary key, "account_id" text not null references "accounts" ("id"), "key_id" text not null references "api_keys" ("id"), "operation" text not null, "model" text, "wire" text not null, "state" text not null, "http_status" integer, "code" text, "started_at_ms" integer not null, "first_output_ms" integer, "duration_ms" integer, "audio_ms_in" integer, "audio_ms_out" integer, "characters" integer, "prompt_tokens" integer, "completion_tokens" integer, "total_tokens" integer, "tokens_source" text, "reserved_units" integer not null, "reserved_month" text, "hold_nano_credits" integer not null, "price_input" integer, "price_output" integer, "fair_use_units" integer, "cost_nano_credits" integer, "overrun_nano_credits" integer) strict, without rowid;
INSERT INTO usage_records VALUES('req_01a196fb161aa2bbf299e9066e1a7405','acc_01a196fb1601ebe487bd37aa40f12d12','key_01a196fb16090da6ef4c9e272ec608d6','transcription','pocketsphinx','rest','failed',502,'upstream_error',1793534400026,3,40,2000,NULL,NULL,NULL,NULL,NULL,NULL,0,NULL,0,NULL,NULL,0,NULL,NULL);
INSERT INTO usage_records VALUES('req_01a196fb161bbceee1d5335d325b6fc2','acc_01a196fb1601ebe487bd37aa40f12d12','key_01a196fb16090da6ef4c9e272ec608d6','catalog',NULL,'rest','ok',200,NULL,1793534400027,3,40,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,NULL,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO usage_records VALUES('req_01a196fb161c67dbc31a7cdc6e1b0347','acc_01a196fb1601ebe487bd37aa40f12d12','key_01a196fb16090da6ef4c9e272ec608d6','chat',NULL,'rest','refused',400,'missing_model',1793534400028,3,40,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,NULL,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO usage_records VALUES('req_01a196fb161d80f44b2bd49d31d29804','acc_01a196fb1601ebe487bd37aa40f12d12','key_01a196fb16090da6ef4c9e272ec608d6','chat','eliza','rest','started',NULL,NULL,1793534400029,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,NULL,50000,100000000,400000000,NULL,NULL,NULL);
INSERT INTO usage_records VALUES('req_01a196fb161e6339f6c66d4188336a95','acc_01a196fb1601ebe487bd37aa40f12d12','key_01a196fb16090da6ef4c9e272ec608d6','speech','flite','rest','started',NULL,NULL,1793534400030,NULL,NULL,NULL,NULL,12,NULL,NULL,NULL,NULL,0,NULL,0,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE IF NOT EXISTS "kept_answers" ("account_id" text not null references "accounts" ("id"), "operation" text not null, "key" text not null, "fingerprint" text not null, "request_id" text not null, "created_at_ms" integer not null, "answer" blob, constraint "kept_answers_key" primary key ("account_id", "operation", "key")) strict;
INSERT INTO kept_answers VALUES('acc_01a196fb1601ebe487bd37aa40f12d12','chat','first','print of first','req_01a196fb161606e30bdc32bb01fa62b3',1793534400022,X'0102ff');
INSERT INTO kept_answers VALUES('acc_01a196fb1601ebe487bd37aa40f12d12','chat','second','print of second','req_01a196fb161d80f44b2bd49d31d29804',1793534400029,NULL);
CREATE TABLE IF NOT EXISTS "audit_entries" ("id" text primary key, "created_at_ms" integer not null, "actor" text not null, "action" text not null, "target" text not null, "details" text not null) strict, without rowid;
INSERT INTO audit_entries VALUES('aud_01a196fb1602618ff1695909bd6931ce',1793534400002,'cli','account.create','acc_01a196fb1601ebe487bd37aa40f12d12','{"by":"test"}');
INSERT INTO audit_entries VALUES('aud_01a196fb1604842615a9aead3480f121',1793534400004,'cli','account.create','acc_01a196fb1603ce3e7ebee83a3b24d6f6','{"by":"test"}');
INSERT INTO audit_entries VALUES('aud_01a196fb1605100426b06e57bdcbfdbf',1793534400005,'cli','trial.start','a','{"by":"test"}');
INSERT INTO audit_entries VALUES('aud_01a196fb160665987d8c0deeeb98039f',1793534400006,'cli','plan.activate','a','{"by":"test"}');
INSERT INTO audit_entries VALUES('aud_01a196fb1607ca66bac7298e8990a0de',1793534400007,'cli','trial.start','a','{"by":"test"}');
INSERT INTO audit_entries VALUES('aud_01a196fb1608088f703f29f8962b5206',1793534400008,'cli','plan.end','a','{"by":"test"}');
INSERT INTO audit_entries VALUES('aud_01a196fb160ac11427333e30e620488d',1793534400010,'cli','key.create','key_01a196fb16090da6ef4c9e272ec608d6','{"by":"test"}');
INSERT INTO audit_entries VALUES('aud_01a196fb160c3947bb8e744cac67c21e',1793534400012,'cli','key.create','k','{"by":"test"}');
INSERT INTO audit_entries VALUES('aud_01a196fb160e5ee3ddeb20ffd59f54df',1793534400014,'cli','key.create','key_01a196fb160d9bee2437f96d6b8603e2','{"by":"test"}');
INSERT INTO audit_entries VALUES('aud_01a196fb16108c338a678de30d68e9e7',1793534400016,'cli','key.rotate','key_01a196fb160d9bee2437f96d6b8603e2','{"by":"test"}');
INSERT INTO audit_entries VALUES('aud_01a196fb16117785d693952ec2bc6729',1793534400017,'cli','key.revoke','key_01a196fb160d9bee2437f96d6b8603e2','{"by":"test"}');
INSERT INTO audit_entries VALUES('aud_01a196fb1613a80ed23ea76274bb9cce',1793534400019,'cli','credits.load','acc_01a196fb1601ebe487bd37aa40f12d12','{"by":"test"}');
INSERT INTO audit_entries VALUES('aud_01a196fb1615aa7d168473fa3d9fec22',1793534400021,'cli','credits.adjustment','acc_01a196fb1601ebe487bd37aa40f12d12','{"by":"test"}');
INSERT INTO audit_entries VALUES('aud_01a196fb161fc1fbbe3c409af6447b59',1793534400031,'cli','usage.prune','usage','{"by":"test"}');
INSERT INTO audit_entries VALUES('aud_01a196fb1620af86696b433feaa3b613',1793534400032,'cli','alerts.set','acc_01a196fb1601ebe487bd37aa40f12d12','{"by":"test"}');
CREATE TABLE IF NOT EXISTS "ledger_entries" ("account_id" text not null references "accounts" ("id"), "id" text not null, "kind" text not null, "amount_nano_credits" integer not null, "reason" text not null, "reference" text not null, "created_at_ms" integer not null, constraint "ledger_entries_key" primary key ("account_id", "id")) strict, without rowid;
INSERT INTO ledger_entries VALUES('acc_01a196fb1601ebe487bd37aa40f12d12','led_01a196fb1612ca3c019484e8165ac5ba','load',10000000001,'a load – “ü”','load-1',1793534400018);
INSERT INTO ledger_entries VALUES('acc_01a196fb1601ebe487bd37aa40f12d12','led_01a196fb1614fdaa74132e042fadefac','adjustment',-1000000000,'a adjustment – “ü”','adjustment-1',1793534400020);
INSERT INTO ledger_entries VALUES('acc_01a196fb1601ebe487bd37aa40f12d12','led_01a196fb161606e30bdc32bb01fa62b3','debit',-14000,'eliza','req_01a196fb161606e30bdc32bb01fa62b3',1793534400062);
INSERT INTO ledger_entries VALUES('acc_01a196fb1601ebe487bd37aa40f12d12','led_01a196fb1618b77a35ab4ff44ff5da22','debit',-50000,'eliza','req_01a196fb1618b77a35ab4ff44ff5da22',1793534400064);
CREATE TABLE IF NOT EXISTS "policy" ("version" integer not null) strict;
INSERT INTO policy VALUES(6);
CREATE TABLE IF NOT EXISTS "limit_counts" ("owner" text not null, "unit" text not null, "period" text not null, "used" integer not null check (used >= 0), constraint "limit_counts_key" primary key ("owner", "unit", "period")) strict, without rowid;
INSERT INTO limit_counts VALUES('acc_01a196fb1601ebe487bd37aa40f12d12','fair_use','2026-11',12);
INSERT INTO limit_counts VALUES('key_01a196fb16090da6ef4c9e272ec608d6','characters','2026-11-01',12);
CREATE TABLE IF NOT EXISTS "usage_rollups" ("day" text not null, "account_id" text not null references "accounts" ("id"), "key_id" text not null, "operation" text not null, "model" text not null, "state" text not null, "requests" integer not null, "characters" integer not null, "audio_ms_in" integer not null, "audio_ms_out" integer not null, "prompt_tokens" integer not null, "completion_tokens" integer not null, "fair_use_units" integer not null, "cost_nano_credits" integer not null, constraint "usage_rollups_key" primary key ("day", "account_id", "key_id", "operation", "model", "state")) strict, without rowid;
INSERT INTO usage_rollups VALUES('2026-11-01','acc_01a196fb1601ebe487bd37aa40f12d12','key_01a196fb16090da6ef4c9e272ec608d6','chat','eliza','cancelled',1,0,0,0,20,30,0,50000);
INSERT INTO usage_rollups VALUES('2026-11-01','acc_01a196fb1601ebe487bd37aa40f12d12','key_01a196fb16090da6ef4c9e272ec608d6','chat','eliza','ok',1,0,0,0,20,30,0,14000);
INSERT INTO usage_rollups VALUES('2026-11-01','acc_01a196fb1601ebe487bd37aa40f12d12','key_01a196fb16090da6ef4c9e272ec608d6','chat','eliza','replayed',1,0,0,0,20,30,0,0);
INSERT INTO usage_rollups VALUES('2026-11-01','acc_01a196fb1601ebe487bd37aa40f12d12','key_01a196fb16090da6ef4c9e272ec608d6','speech','flite','ok',1,12,0,1234,0,0,12,0);
CREATE TABLE IF NOT EXISTS "alert_settings" ("account_id" text primary key references "accounts" ("id"), "webhook_url" text, "secret" text, "percents" text not null, "balance_below" integer, "webhook_off_at_ms" integer) strict, without rowid;
INSERT INTO alert_settings VALUES('acc_01a196fb1601ebe487bd37aa40f12d12','https://example.com/ü','whsec_c2VjcmV0','50 100',5000000000,NULL);
CREATE TABLE IF NOT EXISTS "alert_marks" ("account_id" text not null references "accounts" ("id"), "kind" text not null, "subject" text not null, "period" text not null, "basis" text not null, "threshold" integer not null, constraint "alert_marks_key" primary key ("account_id", "kind", "subject")) strict, without rowid;
INSERT INTO alert_marks VALUES('acc_01a196fb1601ebe487bd37aa40f12d12','fair_use.used','none','2026-11','1000',50);
INSERT INTO alert_marks VALUES('acc_01a196fb1601ebe487bd37aa40f12d12','fair_use.used','pending','2026-11','1000',50);
CREATE TABLE IF NOT EXISTS "alerts" ("id" text primary key, "account_id" text not null references "accounts" ("id"), "kind" text not null, "created_at_ms" integer not null, "details" text not null, "state" text not null, "attempts" integer not null, "next_attempt_at_ms" integer check ((state = 'pending') = (next_attempt_at_ms is not null)), "delivered_at_ms" integer, "last_failure" text) strict, without rowid;
INSERT INTO alerts VALUES('alr_01a196fb16214c88d93c5aa4937d1ff6','acc_01a196fb1601ebe487bd37aa40f12d12','fair_use.used',1793534400033,'{"percent":50,"used":"500","limit":"1000"}','pending',0,1793534400033,NULL,NULL);
INSERT INTO alerts VALUES('alr_01a196fb16226e8796836eb0114a62d3','acc_01a196fb1601ebe487bd37aa40f12d12','fair_use.used',1793534400034,'{"percent":50,"used":"500","limit":"1000"}','pending',0,1793534400034,NULL,NULL);
CREATE TABLE IF NOT EXISTS "ended_sessions" ("owner" text not null, "session" text not null, "until_ms" integer not null, constraint "ended_sessions_key" primary key ("owner", "session")) strict, without rowid;
INSERT INTO ended_sessions VALUES('key_1','one',1793620800034);
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
INSERT INTO words VALUES(23,'pocketsphinx');
INSERT INTO words VALUES(24,'upstream_error');
CREATE TABLE usage_rows (
    id blob primary key, account integer not null, key integer not null, operation any not null, model any, wire any not null,
    state any not null, http_status integer, code any, started_at_ms integer not null, first_output_ms integer,
    duration_ms integer, audio_ms_in integer, audio_ms_out integer, characters integer, prompt_tokens integer,
    completion_tokens integer, total_tokens integer, tokens_source any, hold_nano_credits integer not null,
    price_input integer, price_output integer, fair_use_units integer, cost_nano_credits integer,
    overrun_nano_credits integer
  ) strict, without rowid;
INSERT INTO usage_rows VALUES(X'01a196fb161aa2bbf299e9066e1a7405',1,1,13,23,19,6,502,24,1793534400026,3,40,2000,NULL,NULL,NULL,NULL,NULL,NULL,0,NULL,NULL,0,NULL,NULL);
INSERT INTO usage_rows VALUES(X'01a196fb161bbceee1d5335d325b6fc2',1,1,15,NULL,19,4,200,NULL,1793534400027,3,40,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE ledger_rows (
    account integer not null, id blob not null, kind any not null, amount_nano_credits integer not null, reason any not null,
    reference text, created_at_ms integer not null, primary key (account, id)
  ) strict, without rowid;
INSERT INTO ledger_rows VALUES(1,X'01a196fb1612ca3c019484e8165ac5ba',2,10000000001,'a load – “ü”','load-1',1793534400018);
INSERT INTO ledger_rows VALUES(1,X'01a196fb1614fdaa74132e042fadefac',3,-1000000000,'a adjustment – “ü”','adjustment-1',1793534400020);
INSERT INTO ledger_rows VALUES(1,X'01a196fb161606e30bdc32bb01fa62b3',1,-14000,'eliza',NULL,1793534400062);
CREATE INDEX "api_keys_by_account" on "api_keys" ("account_id", "id");
CREATE INDEX "usage_records_by_account" on "usage_records" ("account_id", "id");
CREATE INDEX usage_records_open on usage_records (id) where state = 'started';
CREATE INDEX "kept_answers_by_age" on "kept_answers" ("created_at_ms");
CREATE UNIQUE INDEX ledger_entries_once on ledger_entries (account_id, reference)
    where kind <> 'debit';
CREATE TRIGGER ledger_entries_stay before update on ledger_entries
    begin select raise(abort, 'ledger entries are never changed'); end;
CREATE TRIGGER ledger_entries_remain before delete on ledger_entries
    begin select raise(abort, 'ledger entries are never removed'); end;
CREATE TRIGGER "subscription_begun" after insert on subscriptions
      begin update policy set version = version + 1; end;
CREATE TRIGGER "subscription_changed" after update on subscriptions
      begin update policy set version = version + 1; end;
CREATE TRIGGER "key_changed" after update of name, scopes, expires_at_ms, revoked_at_ms, limits on api_keys
      begin update policy set version = version + 1; end;
CREATE TRIGGER "account_changed" after update of name, limits, suspended_at_ms, deleted_at_ms on accounts
      begin update policy set version = version + 1; end;
CREATE INDEX "alerts_by_account" on "alerts" ("account_id", "id");
CREATE INDEX alerts_pending on alerts (account_id, id) where state = 'pending';
CREATE UNIQUE INDEX "accounts_by_number" on "accounts" (number);
CREATE TRIGGER "accounts_numbered" after insert on "accounts" begin
    update "accounts" set number = (select coalesce(max(number), 0) + 1 from "accounts")
    where id = new.id; end;
CREATE UNIQUE INDEX "api_keys_by_number" on "api_keys" (number);
CREATE TRIGGER "api_keys_numbered" after insert on "api_keys" begin
    update "api_keys" set number = (select coalesce(max(number), 0) + 1 from "api_keys")
    where id = new.id; end;
CREATE INDEX usage_rows_by_account on usage_rows (account, id);
CREATE INDEX usage_rows_open on usage_rows (id) where state = 0;
CREATE UNIQUE INDEX ledger_rows_once on ledger_rows (account, reference)
    where kind <> 1;
CREATE TRIGGER ledger_rows_stay before update on ledger_rows
    begin select raise(abort, 'ledger entries are never changed'); end;
CREATE TRIGGER ledger_rows_remain before delete on ledger_rows
    begin select raise(abort, 'ledger entries are never removed'); end;
COMMIT;
