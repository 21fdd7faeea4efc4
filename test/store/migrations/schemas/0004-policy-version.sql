PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE IF NOT EXISTS "kysely_migration" ("name" varchar(255) not null primary key, "timestamp" varchar(255) not null);
INSERT INTO kysely_migration VALUES('0001-initial','2026-11-22T11:13:07.617Z');
INSERT INTO kysely_migration VALUES('0002-debits-by-request','2026-11-22T11:13:07.619Z');
INSERT INTO kysely_migration VALUES('0003-usage-rollups','2026-11-22T11:13:07.620Z');
INSERT INTO kysely_migration VALUES('0004-policy-version','2026-11-22T11:13:07.621Z');
CREATE TABLE IF NOT EXISTS "kysely_migration_lock" ("id" varchar(255) not null primary key, "is_locked" integer default 0 not null);
INSERT INTO kysely_migration_lock VALUES('migration_lock',0);
CREATE TABLE IF NOT EXISTS "accounts" ("id" text primary key, "name" text not null unique, "created_at_ms" integer not null, "balance_nano_credits" integer not null check (balance_nano_credits >= held_nano_credits), "held_nano_credits" integer not null check (held_nano_credits >= 0)) strict, without rowid;
INSERT INTO accounts VALUES('acc_01a196fb16010d65c973259c12d194e6','acme ü',1793534400001,8999936001,50000);
INSERT INTO accounts VALUES('acc_01a196fb1603d06c7269b7ef9a666690','poor',1793534400003,0,0);
CREATE TABLE IF NOT EXISTS "subscriptions" ("account_id" text not null references "accounts" ("id"), "kind" text not null check (kind in ('trial', 'plan')), "starts_at_ms" integer not null, "ends_at_ms" integer not null, constraint "subscriptions_key" primary key ("account_id", "kind")) strict, without rowid;
INSERT INTO subscriptions VALUES('acc_01a196fb16010d65c973259c12d194e6','plan',1793534400005,1801310400005);
INSERT INTO subscriptions VALUES('acc_01a196fb16010d65c973259c12d194e6','trial',1793534400004,1794744000004);
INSERT INTO subscriptions VALUES('acc_01a196fb1603d06c7269b7ef9a666690','trial',1793534400006,1793620800007);
CREATE TABLE IF NOT EXISTS "api_keys" ("id" text primary key, "account_id" text references "accounts" ("id"), "kind" text not null check ((kind = 'admin') = (account_id is null)), "name" text not null, "hash" text not null unique, "last_four" text not null, "scopes" text not null, "created_at_ms" integer not null, "expires_at_ms" integer, "revoked_at_ms" integer) strict, without rowid;
INSERT INTO api_keys VALUES('key_01a196fb160929a44241f2bdf837e9d9','acc_01a196fb16010d65c973259c12d194e6','account','app','hash of app','wxyz','speech chat',1793534400009,NULL,NULL);
INSERT INTO api_keys VALUES('key_01a196fb160b3cedf327ee63db086484',NULL,'admin','boss','hash of boss','wxyz','',1793534400011,NULL,NULL);
INSERT INTO api_keys VALUES('key_01a196fb160d53512db32e3a4643b4cf','acc_01a196fb1603d06c7269b7ef9a666690','account','old','hash of old','wxyz','speech chat',1793534400013,1793534400014,1793534400016);
INSERT INTO api_keys VALUES('key_01a196fb160f3c1de8d637065e4e02c4','acc_01a196fb1603d06c7269b7ef9a666690','account','new','hash of new','wxyz','speech chat',1793534400015,NULL,NULL);
CREATE TABLE IF NOT EXISTS "fair_use" ("account_id" text not null references "accounts" ("id"), "month" text not null, "used_units" integer not null check (used_units >= 0), "reserved_units" integer not null check (reserved_units >= 0), constraint "fair_use_key" primary key ("account_id", "month")) strict, without rowid;
INSERT INTO fair_use VALUES('acc_01a196fb16010d65c973259c12d194e6','2026-11',12,12);
CREATE TABLE IF NOT EXISTS "usage_records" ("id" text primary key, "account_id" text not null references "accounts" ("id"), "key_id" text not null references "api_keys" ("id"), "operation" text not null, "model" text, "wire" text not null, "state" text not null, "http_status" integer, "code" text, "started_at_ms" integer not null, "first_output_ms" integer, "duration_ms" integer, "audio_ms_in" integer, "audio_ms_out" integer, "characters" integer, "prompt_tokens" integer, "completion_tokens" integer, "total_tokens" integer, "tokens_source" text, "reserved_units" integer not null, "reserved_month" text, "hold_nano_credits" integer not null, "price_input" integer, "price_output" integer, "fair_use_units" integer, "cost_nano_credits" integer, "overrun_nano_credits" integer) strict, without rowid;
INSERT INTO usage_records VALUES('req_01a196fb161a2e7086bc08cbfa77cbc9','acc_01a196fb16010d65c973259c12d194e6','key_01a196fb160929a44241f2bdf837e9d9','transcription','pocketsphinx','rest','failed',502,'upstream_error',1793534400026,3,40,2000,NULL,NULL,NULL,NULL,NULL,NULL,0,NULL,0,NULL,NULL,0,NULL,NULL);
INSERT INTO usage_records VALUES('req_01a196fb161bf080d6aa3f065bb210d6','acc_01a196fb16010d65c973259c12d194e6','key_01a196fb160929a44241f2bdf837e9d9','catalog',NULL,'rest','ok',200,NULL,1793534400027,3,40,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,NULL,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO usage_records VALUES('req_01a196fb161c55d920aed77156bd4261','acc_01a196fb16010d65c973259c12d194e6','key_01a196fb160929a44241f2bdf837e9d9','chat',NULL,'rest','refused',400,'missing_model',1793534400028,3,40,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,NULL,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO usage_records VALUES('req_01a196fb161d191a87fafc61d9e222f6','acc_01a196fb16010d65c973259c12d194e6','key_01a196fb160929a44241f2bdf837e9d9','chat','eliza','rest','started',NULL,NULL,1793534400029,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,NULL,50000,100000000,400000000,NULL,NULL,NULL);
INSERT INTO usage_records VALUES('req_01a196fb161e0254cb3445d8434b9b98','acc_01a196fb16010d65c973259c12d194e6','key_01a196fb160929a44241f2bdf837e9d9','speech','flite','rest','started',NULL,NULL,1793534400030,NULL,NULL,NULL,NULL,12,NULL,NULL,NULL,NULL,12,'2026-11',0,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE IF NOT EXISTS "kept_answers" ("account_id" text not null references "accounts" ("id"), "operation" text not null, "key" text not null, "fingerprint" text not null, "request_id" text not null, "created_at_ms" integer not null, "answer" blob, constraint "kept_answers_key" primary key ("account_id", "operation", "key")) strict;
INSERT INTO kept_answers VALUES('acc_01a196fb16010d65c973259c12d194e6','chat','first','print of first','req_01a196fb1616c41be903845bf71c886c',1793534400022,X'0102ff');
INSERT INTO kept_answers VALUES('acc_01a196fb16010d65c973259c12d194e6','chat','second','print of second','req_01a196fb161d191a87fafc61d9e222f6',1793534400029,NULL);
CREATE TABLE IF NOT EXISTS "audit_entries" ("id" text primary key, "created_at_ms" integer not null, "actor" text not null, "action" text not null, "target" text not null, "details" text not null) strict, without rowid;
INSERT INTO audit_entries VALUES('aud_01a196fb1602cdb21c2328435aa70420',1793534400002,'cli','account.create','acc_01a196fb16010d65c973259c12d194e6','{"by":"test"}');
INSERT INTO audit_entries VALUES('aud_01a196fb1604a16920994be7a568d62c',1793534400004,'cli','account.create','acc_01a196fb1603d06c7269b7ef9a666690','{"by":"test"}');
INSERT INTO audit_entries VALUES('aud_01a196fb16057f40969f260486aaa51d',1793534400005,'cli','trial.start','a','{"by":"test"}');
INSERT INTO audit_entries VALUES('aud_01a196fb1606fde9793c97e0b576c8db',1793534400006,'cli','plan.activate','a','{"by":"test"}');
INSERT INTO audit_entries VALUES('aud_01a196fb1607ee30cd3550cd6ac7ffd3',1793534400007,'cli','trial.start','a','{"by":"test"}');
INSERT INTO audit_entries VALUES('aud_01a196fb1608ee26992c1b8ddb448ba0',1793534400008,'cli','plan.end','a','{"by":"test"}');
INSERT INTO audit_entries VALUES('aud_01a196fb160af56807e6492cd2d6dc74',1793534400010,'cli','key.create','key_01a196fb160929a44241f2bdf837e9d9','{"by":"test"}');
INSERT INTO audit_entries VALUES('aud_01a196fb160ca6f73bca341fcf578151',1793534400012,'cli','key.create','k','{"by":"test"}');
INSERT INTO audit_entries VALUES('aud_01a196fb160e0d1f56604a8fe7fe200d',1793534400014,'cli','key.create','key_01a196fb160d53512db32e3a4643b4cf','{"by":"test"}');
INSERT INTO audit_entries VALUES('aud_01a196fb16106df4b2007e9102f983f7',1793534400016,'cli','key.rotate','key_01a196fb160d53512db32e3a4643b4cf','{"by":"test"}');
INSERT INTO audit_entries VALUES('aud_01a196fb161100bb75c251f5fc78c05e',1793534400017,'cli','key.revoke','key_01a196fb160d53512db32e3a4643b4cf','{"by":"test"}');
INSERT INTO audit_entries VALUES('aud_01a196fb1613adc4048cfa40df18c6ea',1793534400019,'cli','credits.load','acc_01a196fb16010d65c973259c12d194e6','{"by":"test"}');
INSERT INTO audit_entries VALUES('aud_01a196fb1615642cf79f3aa9ab161e20',1793534400021,'cli','credits.adjustment','acc_01a196fb16010d65c973259c12d194e6','{"by":"test"}');
INSERT INTO audit_entries VALUES('aud_01a196fb161f2003c03ea76c7652f935',1793534400031,'cli','usage.prune','usage','{"by":"test"}');
CREATE TABLE IF NOT EXISTS "ledger_entries" ("account_id" text not null references "accounts" ("id"), "id" text not null, "kind" text not null, "amount_nano_credits" integer not null, "reason" text not null, "reference" text not null, "created_at_ms" integer not null, constraint "ledger_entries_key" primary key ("account_id", "id")) strict, without rowid;
INSERT INTO ledger_entries VALUES('acc_01a196fb16010d65c973259c12d194e6','led_01a196fb161239c38172e99846c2d6c7','load',10000000001,'a load – “ü”','load-1',1793534400018);
INSERT INTO ledger_entries VALUES('acc_01a196fb16010d65c973259c12d194e6','led_01a196fb1614869416733328b8eeb651','adjustment',-1000000000,'a adjustment – “ü”','adjustment-1',1793534400020);
INSERT INTO ledger_entries VALUES('acc_01a196fb16010d65c973259c12d194e6','led_01a196fb1616c41be903845bf71c886c','debit',-14000,'eliza','req_01a196fb1616c41be903845bf71c886c',1793534400062);
INSERT INTO ledger_entries VALUES('acc_01a196fb16010d65c973259c12d194e6','led_01a196fb161859814aebd35dd60746df','debit',-50000,'eliza','req_01a196fb161859814aebd35dd60746df',1793534400064);
CREATE TABLE IF NOT EXISTS "usage_rollups" ("day" text not null, "account_id" text not null references "accounts" ("id"), "operation" text not null, "model" text not null, "state" text not null, "requests" integer not null, "characters" integer not null, "audio_ms_in" integer not null, "audio_ms_out" integer not null, "prompt_tokens" integer not null, "completion_tokens" integer not null, "fair_use_units" integer not null, "cost_nano_credits" integer not null, constraint "usage_rollups_key" primary key ("day", "account_id", "operation", "model", "state")) strict, without rowid;
INSERT INTO usage_rollups VALUES('2026-11-01','acc_01a196fb16010d65c973259c12d194e6','chat','eliza','cancelled',1,0,0,0,20,30,0,50000);
INSERT INTO usage_rollups VALUES('2026-11-01','acc_01a196fb16010d65c973259c12d194e6','chat','eliza','ok',1,0,0,0,20,30,0,14000);
INSERT INTO usage_rollups VALUES('2026-11-01','acc_01a196fb16010d65c973259c12d194e6','chat','eliza','replayed',1,0,0,0,20,30,0,0);
INSERT INTO usage_rollups VALUES('2026-11-01','acc_01a196fb16010d65c973259c12d194e6','speech','flite','ok',1,12,0,1234,0,0,12,0);
CREATE TABLE IF NOT EXISTS "policy" ("version" integer not null) strict;
INSERT INTO policy VALUES(6);
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
CREATE TRIGGER "key_changed" after update on api_keys
      begin update policy set version = version + 1; end;
CREATE TRIGGER "account_renamed" after update of name on accounts
      begin update policy set version = version + 1; end;
CREATE TRIGGER "subscription_begun" after insert on subscriptions
      begin update policy set version = version + 1; end;
CREATE TRIGGER "subscription_changed" after update on subscriptions
      begin update policy set version = version + 1; end;
COMMIT;
