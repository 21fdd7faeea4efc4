SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE FUNCTION public.parley_account_changed() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
    begin
      new.policy_version := old.policy_version + 1;
      perform pg_notify('parley_policy', new.id::text);
      return new;
    end $$;
CREATE FUNCTION public.parley_policy_changed() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
    begin
      if new.account_id is not null then
        update accounts set policy_version = policy_version + 1 where id = new.account_id;
        perform pg_notify('parley_policy', new.account_id::text);
      end if;
      return null;
    end $$;
CREATE FUNCTION public.parley_refuse() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ begin raise exception '%', tg_argv[0]; end $$;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE public.accounts (
    id uuid NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    created_at_ms bigint NOT NULL,
    balance_nano_credits bigint NOT NULL,
    held_nano_credits bigint NOT NULL,
    policy_version bigint DEFAULT 0 NOT NULL,
    limits text DEFAULT ''::text NOT NULL,
    suspended_at_ms bigint,
    deleted_at_ms bigint,
    CONSTRAINT accounts_check CHECK ((balance_nano_credits >= held_nano_credits)),
    CONSTRAINT accounts_held_nano_credits_check CHECK ((held_nano_credits >= 0))
);
CREATE TABLE public.alert_marks (
    account_id uuid NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    subject text NOT NULL COLLATE pg_catalog."C",
    period text NOT NULL COLLATE pg_catalog."C",
    basis text NOT NULL COLLATE pg_catalog."C",
    threshold bigint NOT NULL
);
CREATE TABLE public.alert_settings (
    account_id uuid NOT NULL,
    webhook_url text,
    secret text,
    percents text NOT NULL,
    balance_below bigint,
    webhook_off_at_ms bigint
);
CREATE TABLE public.alerts (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    created_at_ms bigint NOT NULL,
    details text NOT NULL,
    state text NOT NULL COLLATE pg_catalog."C",
    attempts bigint NOT NULL,
    next_attempt_at_ms bigint,
    delivered_at_ms bigint,
    last_failure text,
    CONSTRAINT alerts_check CHECK (((state = 'pending'::text) = (next_attempt_at_ms IS NOT NULL)))
);
CREATE TABLE public.api_keys (
    id uuid NOT NULL,
    account_id uuid,
    kind text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    hash text NOT NULL COLLATE pg_catalog."C",
    last_four text NOT NULL COLLATE pg_catalog."C",
    scopes text NOT NULL COLLATE pg_catalog."C",
    created_at_ms bigint NOT NULL,
    expires_at_ms bigint,
    revoked_at_ms bigint,
    limits text DEFAULT ''::text NOT NULL,
    origin_id text DEFAULT ''::text NOT NULL,
    last_used_at_ms bigint,
    person text DEFAULT ''::text NOT NULL,
    subject text DEFAULT ''::text NOT NULL,
    provider_session text DEFAULT ''::text NOT NULL,
    CONSTRAINT api_keys_check CHECK (((kind = 'admin'::text) = (account_id IS NULL)))
);
CREATE TABLE public.audit_entries (
    id uuid NOT NULL,
    created_at_ms bigint NOT NULL,
    actor text NOT NULL COLLATE pg_catalog."C",
    action text NOT NULL COLLATE pg_catalog."C",
    target text NOT NULL COLLATE pg_catalog."C",
    details text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE public.ended_sessions (
    owner text NOT NULL COLLATE pg_catalog."C",
    session text NOT NULL COLLATE pg_catalog."C",
    until_ms bigint NOT NULL
);
CREATE TABLE public.kept_answers (
    account_id uuid NOT NULL,
    operation text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    fingerprint text NOT NULL COLLATE pg_catalog."C",
    request_id uuid NOT NULL,
    created_at_ms bigint NOT NULL,
    answer bytea,
    node_epoch bigint
);
CREATE TABLE public.kysely_migration (
    name character varying(255) NOT NULL,
    "timestamp" character varying(255) NOT NULL
);
CREATE TABLE public.kysely_migration_lock (
    id character varying(255) NOT NULL,
    is_locked integer DEFAULT 0 NOT NULL
);
CREATE TABLE public.ledger_entries (
    account_id uuid NOT NULL,
    id uuid NOT NULL,
    amount_nano_credits bigint NOT NULL,
    created_at_ms bigint NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    reason text NOT NULL COLLATE pg_catalog."C",
    reference text COLLATE pg_catalog."C"
);
CREATE TABLE public.limit_counts (
    owner text NOT NULL COLLATE pg_catalog."C",
    unit text NOT NULL COLLATE pg_catalog."C",
    period text NOT NULL COLLATE pg_catalog."C",
    used bigint NOT NULL,
    reserved bigint DEFAULT 0 NOT NULL,
    CONSTRAINT limit_counts_reserved_check CHECK ((reserved >= 0)),
    CONSTRAINT limit_counts_used_check CHECK ((used >= 0))
);
CREATE TABLE public.needed_migrations (
    name text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE public.nodes (
    epoch bigint NOT NULL,
    name text NOT NULL,
    version text NOT NULL,
    lease_until timestamp with time zone NOT NULL,
    dead boolean DEFAULT false NOT NULL
);
ALTER TABLE public.nodes ALTER COLUMN epoch ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.nodes_epoch_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.rates (
    owner text NOT NULL COLLATE pg_catalog."C",
    minute bigint NOT NULL,
    requests bigint NOT NULL,
    tokens bigint NOT NULL,
    running bigint NOT NULL
);
CREATE TABLE public.secrets (
    purpose text NOT NULL COLLATE pg_catalog."C",
    secret text NOT NULL
);
CREATE TABLE public.subscriptions (
    account_id uuid NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    starts_at_ms bigint NOT NULL,
    ends_at_ms bigint NOT NULL,
    CONSTRAINT subscriptions_kind_check CHECK ((kind = ANY (ARRAY['trial'::text, 'plan'::text])))
);
CREATE TABLE public.usage_records (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    key_id uuid NOT NULL,
    operation text NOT NULL COLLATE pg_catalog."C",
    model text COLLATE pg_catalog."C",
    wire text NOT NULL COLLATE pg_catalog."C",
    state text NOT NULL COLLATE pg_catalog."C",
    http_status bigint,
    code text COLLATE pg_catalog."C",
    started_at_ms bigint NOT NULL,
    first_output_ms bigint,
    duration_ms bigint,
    audio_ms_in bigint,
    audio_ms_out bigint,
    characters bigint,
    prompt_tokens bigint,
    completion_tokens bigint,
    total_tokens bigint,
    tokens_source text COLLATE pg_catalog."C",
    hold_nano_credits bigint NOT NULL,
    price_input bigint,
    price_output bigint,
    fair_use_units bigint,
    cost_nano_credits bigint,
    overrun_nano_credits bigint,
    node_epoch bigint,
    counted text,
    rate_uses text,
    cached_tokens bigint,
    cache_write_tokens bigint,
    engine text COLLATE pg_catalog."C",
    reserved_nano_credits bigint,
    cause text,
    end_user text COLLATE pg_catalog."C",
    tags text COLLATE pg_catalog."C"
)
PARTITION BY RANGE (id);
CREATE TABLE public.usage_records_rest (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    key_id uuid NOT NULL,
    operation text NOT NULL COLLATE pg_catalog."C",
    model text COLLATE pg_catalog."C",
    wire text NOT NULL COLLATE pg_catalog."C",
    state text NOT NULL COLLATE pg_catalog."C",
    http_status bigint,
    code text COLLATE pg_catalog."C",
    started_at_ms bigint NOT NULL,
    first_output_ms bigint,
    duration_ms bigint,
    audio_ms_in bigint,
    audio_ms_out bigint,
    characters bigint,
    prompt_tokens bigint,
    completion_tokens bigint,
    total_tokens bigint,
    tokens_source text COLLATE pg_catalog."C",
    hold_nano_credits bigint NOT NULL,
    price_input bigint,
    price_output bigint,
    fair_use_units bigint,
    cost_nano_credits bigint,
    overrun_nano_credits bigint,
    node_epoch bigint,
    counted text,
    rate_uses text,
    cached_tokens bigint,
    cache_write_tokens bigint,
    engine text COLLATE pg_catalog."C",
    reserved_nano_credits bigint,
    cause text,
    end_user text COLLATE pg_catalog."C",
    tags text COLLATE pg_catalog."C"
);
CREATE TABLE public.usage_sums (
    day text NOT NULL COLLATE pg_catalog."C",
    account_id uuid NOT NULL,
    key_id uuid NOT NULL,
    operation text NOT NULL COLLATE pg_catalog."C",
    model text NOT NULL COLLATE pg_catalog."C",
    state text NOT NULL COLLATE pg_catalog."C",
    requests bigint DEFAULT 0 NOT NULL,
    characters bigint DEFAULT 0 NOT NULL,
    audio_ms_in bigint DEFAULT 0 NOT NULL,
    audio_ms_out bigint DEFAULT 0 NOT NULL,
    prompt_tokens bigint DEFAULT 0 NOT NULL,
    completion_tokens bigint DEFAULT 0 NOT NULL,
    cached_tokens bigint DEFAULT 0 NOT NULL,
    cache_write_tokens bigint DEFAULT 0 NOT NULL,
    fair_use_units bigint DEFAULT 0 NOT NULL,
    cost_nano_credits bigint DEFAULT 0 NOT NULL
);
CREATE TABLE public.waiting_addresses (
    account_id uuid NOT NULL,
    address text NOT NULL COLLATE pg_catalog."C",
    code_hash text,
    sent_at_ms bigint,
    expires_at_ms bigint,
    last_failure text
);
ALTER TABLE ONLY public.usage_records ATTACH PARTITION public.usage_records_rest DEFAULT;
INSERT INTO public.accounts VALUES ('01a196fb-1603-b113-5c66-60e5e7ed1781', 'poor', 1793534400003, 0, 0, 4, '', NULL, NULL);
INSERT INTO public.accounts VALUES ('01a196fb-1601-fe45-ef83-047befdef95e', 'acme ü', 1793534400001, 8999936001, 50000, 2, '', NULL, NULL);
INSERT INTO public.alert_marks VALUES ('01a196fb-1601-fe45-ef83-047befdef95e', 'fair_use.used', 'none', '2026-11', '1000', 50);
INSERT INTO public.alert_marks VALUES ('01a196fb-1601-fe45-ef83-047befdef95e', 'fair_use.used', 'pending', '2026-11', '1000', 50);
INSERT INTO public.alert_settings VALUES ('01a196fb-1601-fe45-ef83-047befdef95e', 'https://example.com/ü', 'whsec_c2VjcmV0', '50 100', 5000000000, NULL);
INSERT INTO public.alerts VALUES ('01a196fb-1621-561f-cbe9-2d49cdb2f89f', '01a196fb-1601-fe45-ef83-047befdef95e', 'fair_use.used', 1793534400033, '{"percent":50,"used":"500","limit":"1000"}', 'pending', 0, 1793534400033, NULL, NULL);
INSERT INTO public.alerts VALUES ('01a196fb-1622-3192-fc47-3aadc72b9cb9', '01a196fb-1601-fe45-ef83-047befdef95e', 'fair_use.used', 1793534400034, '{"percent":50,"used":"500","limit":"1000"}', 'pending', 0, 1793534400034, NULL, NULL);
INSERT INTO public.api_keys VALUES ('01a196fb-160b-7c2f-a04f-9f9774049b6a', NULL, 'admin', 'boss', 'hash of boss', 'wxyz', '', 1793534400011, NULL, NULL, '', '', NULL, '', '', '');
INSERT INTO public.api_keys VALUES ('01a196fb-160f-a564-4e92-a82fc7bdce42', '01a196fb-1603-b113-5c66-60e5e7ed1781', 'account', 'new', 'hash of new', 'wxyz', 'speech chat', 1793534400015, NULL, NULL, '', '', NULL, '', '', '');
INSERT INTO public.api_keys VALUES ('01a196fb-160d-f732-0ae3-a30d1e409b84', '01a196fb-1603-b113-5c66-60e5e7ed1781', 'account', 'old', 'hash of old', 'wxyz', 'speech chat', 1793534400013, 1793534400014, 1793534400016, '', '', NULL, '', '', '');
INSERT INTO public.api_keys VALUES ('01a196fb-1609-e17e-4f79-77db2f0f2f16', '01a196fb-1601-fe45-ef83-047befdef95e', 'account', 'app', 'hash of app', 'wxyz', 'speech chat', 1793534400009, NULL, NULL, '', '', 1793534400000, '', '', '');
INSERT INTO public.audit_entries VALUES ('01a196fb-1602-4097-566e-55c060094d54', 1793534400002, 'cli', 'account.create', 'acc_01a196fb1601fe45ef83047befdef95e', '{"by":"test"}');
INSERT INTO public.audit_entries VALUES ('01a196fb-1604-6cf8-1946-2b727d21f147', 1793534400004, 'cli', 'account.create', 'acc_01a196fb1603b1135c6660e5e7ed1781', '{"by":"test"}');
INSERT INTO public.audit_entries VALUES ('01a196fb-1605-9cf1-7261-f18585ff0f46', 1793534400005, 'cli', 'trial.start', 'a', '{"by":"test"}');
INSERT INTO public.audit_entries VALUES ('01a196fb-1606-f9e7-4a61-1243af1a2300', 1793534400006, 'cli', 'plan.activate', 'a', '{"by":"test"}');
INSERT INTO public.audit_entries VALUES ('01a196fb-1607-4720-b0c7-b3b15018600a', 1793534400007, 'cli', 'trial.start', 'a', '{"by":"test"}');
INSERT INTO public.audit_entries VALUES ('01a196fb-1608-d8b6-48c1-18d94f9558ee', 1793534400008, 'cli', 'plan.end', 'a', '{"by":"test"}');
INSERT INTO public.audit_entries VALUES ('01a196fb-160a-e3dc-f715-72455dd22301', 1793534400010, 'cli', 'key.create', 'key_01a196fb1609e17e4f7977db2f0f2f16', '{"by":"test"}');
INSERT INTO public.audit_entries VALUES ('01a196fb-160c-0051-cb67-c42fe2c6c36f', 1793534400012, 'cli', 'key.create', 'k', '{"by":"test"}');
INSERT INTO public.audit_entries VALUES ('01a196fb-160e-a21b-d3db-04ad80d89a64', 1793534400014, 'cli', 'key.create', 'key_01a196fb160df7320ae3a30d1e409b84', '{"by":"test"}');
INSERT INTO public.audit_entries VALUES ('01a196fb-1610-3b01-f82f-0880eb1450be', 1793534400016, 'cli', 'key.rotate', 'key_01a196fb160df7320ae3a30d1e409b84', '{"by":"test"}');
INSERT INTO public.audit_entries VALUES ('01a196fb-1611-7769-507f-bc1de88d3dcd', 1793534400017, 'cli', 'key.revoke', 'key_01a196fb160df7320ae3a30d1e409b84', '{"by":"test"}');
INSERT INTO public.audit_entries VALUES ('01a196fb-1613-7e2f-3b57-d74095471a85', 1793534400019, 'cli', 'credits.load', 'acc_01a196fb1601fe45ef83047befdef95e', '{"by":"test"}');
INSERT INTO public.audit_entries VALUES ('01a196fb-1615-39c5-cc45-b95a2fefa362', 1793534400021, 'cli', 'credits.adjustment', 'acc_01a196fb1601fe45ef83047befdef95e', '{"by":"test"}');
INSERT INTO public.audit_entries VALUES ('01a196fb-161f-b637-d4e4-9facb55c4ea4', 1793534400031, 'cli', 'usage.prune', 'usage', '{"by":"test"}');
INSERT INTO public.audit_entries VALUES ('01a196fb-1620-5ca7-f366-fa9f7103b257', 1793534400032, 'cli', 'alerts.set', 'acc_01a196fb1601fe45ef83047befdef95e', '{"by":"test"}');
INSERT INTO public.ended_sessions VALUES ('key_1', 'one', 1793620800034);
INSERT INTO public.kept_answers VALUES ('01a196fb-1601-fe45-ef83-047befdef95e', 'chat', 'first', 'print of first', '01a196fb-1616-0cae-8e10-c72406e47edc', 1793534400022, '\x0102ff', 1);
INSERT INTO public.kept_answers VALUES ('01a196fb-1601-fe45-ef83-047befdef95e', 'chat', 'second', 'print of second', '01a196fb-161d-3328-230d-afca914ef16b', 1793534400029, NULL, 1);
INSERT INTO public.kysely_migration VALUES ('0020-initial', '2026-11-29T20:41:43.989Z');
INSERT INTO public.kysely_migration VALUES ('0021-causes', '2026-11-29T20:41:43.991Z');
INSERT INTO public.kysely_migration VALUES ('0022-secrets', '2026-11-29T20:41:43.995Z');
INSERT INTO public.kysely_migration VALUES ('0023-labels', '2026-11-29T20:41:43.996Z');
INSERT INTO public.kysely_migration_lock VALUES ('migration_lock', 0);
INSERT INTO public.ledger_entries VALUES ('01a196fb-1601-fe45-ef83-047befdef95e', '01a196fb-1612-d3f7-129f-49a39f2d8df7', 10000000001, 1793534400018, 'load', 'a load – “ü”', 'load-1');
INSERT INTO public.ledger_entries VALUES ('01a196fb-1601-fe45-ef83-047befdef95e', '01a196fb-1614-6dc5-8365-a6265165b0f5', -1000000000, 1793534400020, 'adjustment', 'a adjustment – “ü”', 'adjustment-1');
INSERT INTO public.ledger_entries VALUES ('01a196fb-1601-fe45-ef83-047befdef95e', '01a196fb-1616-0cae-8e10-c72406e47edc', -14000, 1793534400062, 'debit', 'eliza', NULL);
INSERT INTO public.ledger_entries VALUES ('01a196fb-1601-fe45-ef83-047befdef95e', '01a196fb-1618-06e3-439d-eec23def77c2', -50000, 1793534400064, 'debit', 'eliza', NULL);
INSERT INTO public.limit_counts VALUES ('key_01a196fb1609e17e4f7977db2f0f2f16', 'characters', '2026-11-01', 12, 0);
INSERT INTO public.limit_counts VALUES ('acc_01a196fb1601fe45ef83047befdef95e', 'fair_use', '2026-11', 12, 12);
INSERT INTO public.needed_migrations VALUES ('0020-initial');
INSERT INTO public.nodes OVERRIDING SYSTEM VALUE VALUES (1, 'vm:18033', '', '2026-11-28 15:01:30.599862+00', true);
INSERT INTO public.secrets VALUES ('reasoning', 'SanGZ0o9zEoxOl6D0EKNQvcSgyoGJ1syuKGkNCnChL8');
INSERT INTO public.subscriptions VALUES ('01a196fb-1601-fe45-ef83-047befdef95e', 'trial', 1793534400004, 1794744000004);
INSERT INTO public.subscriptions VALUES ('01a196fb-1601-fe45-ef83-047befdef95e', 'plan', 1793534400005, 1801310400005);
INSERT INTO public.subscriptions VALUES ('01a196fb-1603-b113-5c66-60e5e7ed1781', 'trial', 1793534400006, 1793620800007);
INSERT INTO public.usage_records_rest VALUES ('01a196fb-161a-11bd-53f8-06b2d4a5f45e', '01a196fb-1601-fe45-ef83-047befdef95e', '01a196fb-1609-e17e-4f79-77db2f0f2f16', 'transcription', 'pocketsphinx', 'rest', 'failed', 502, 'upstream_error', 1793534400026, 3, 40, 2000, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, 0, NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.usage_records_rest VALUES ('01a196fb-161b-67de-548b-28b61d011ba1', '01a196fb-1601-fe45-ef83-047befdef95e', '01a196fb-1609-e17e-4f79-77db2f0f2f16', 'catalog', NULL, 'rest', 'ok', 200, NULL, 1793534400027, 3, 40, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.usage_records_rest VALUES ('01a196fb-161c-1162-54ba-ab8f9a60ab6f', '01a196fb-1601-fe45-ef83-047befdef95e', '01a196fb-1609-e17e-4f79-77db2f0f2f16', 'chat', NULL, 'rest', 'refused', 400, 'missing_model', 1793534400028, 3, 40, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.usage_records_rest VALUES ('01a196fb-161d-3328-230d-afca914ef16b', '01a196fb-1601-fe45-ef83-047befdef95e', '01a196fb-1609-e17e-4f79-77db2f0f2f16', 'chat', 'eliza', 'rest', 'started', NULL, NULL, 1793534400029, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 50000, 100000000, 400000000, NULL, NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.usage_records_rest VALUES ('01a196fb-161e-bbba-633f-161195a96360', '01a196fb-1601-fe45-ef83-047befdef95e', '01a196fb-1609-e17e-4f79-77db2f0f2f16', 'speech', 'flite', 'rest', 'started', NULL, NULL, 1793534400030, NULL, NULL, NULL, NULL, 12, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 1, '[{"owner":"acc_01a196fb1601fe45ef83047befdef95e","unit":"fair_use","period":"2026-11","amount":"12","limit":"1000"}]', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.usage_sums VALUES ('2026-11-01', '01a196fb-1601-fe45-ef83-047befdef95e', '01a196fb-1609-e17e-4f79-77db2f0f2f16', 'chat', 'eliza', 'replayed', 1, 0, 0, 0, 20, 30, 0, 0, 0, 0);
INSERT INTO public.usage_sums VALUES ('2026-11-01', '01a196fb-1601-fe45-ef83-047befdef95e', '01a196fb-1609-e17e-4f79-77db2f0f2f16', 'transcription', 'pocketsphinx', 'failed', 1, 0, 2000, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_sums VALUES ('2026-11-01', '01a196fb-1601-fe45-ef83-047befdef95e', '01a196fb-1609-e17e-4f79-77db2f0f2f16', 'speech', 'flite', 'ok', 1, 12, 0, 1234, 0, 0, 0, 0, 12, 0);
INSERT INTO public.usage_sums VALUES ('2026-11-01', '01a196fb-1601-fe45-ef83-047befdef95e', '01a196fb-1609-e17e-4f79-77db2f0f2f16', 'chat', '', 'refused', 1, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_sums VALUES ('2026-11-01', '01a196fb-1601-fe45-ef83-047befdef95e', '01a196fb-1609-e17e-4f79-77db2f0f2f16', 'chat', 'eliza', 'ok', 1, 0, 0, 0, 20, 30, 0, 0, 0, 14000);
INSERT INTO public.usage_sums VALUES ('2026-11-01', '01a196fb-1601-fe45-ef83-047befdef95e', '01a196fb-1609-e17e-4f79-77db2f0f2f16', 'catalog', '', 'ok', 1, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_sums VALUES ('2026-11-01', '01a196fb-1601-fe45-ef83-047befdef95e', '01a196fb-1609-e17e-4f79-77db2f0f2f16', 'chat', 'eliza', 'cancelled', 1, 0, 0, 0, 20, 30, 0, 0, 0, 50000);
INSERT INTO public.waiting_addresses VALUES ('01a196fb-1601-fe45-ef83-047befdef95e', 'ü@example.com', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 1793534400032, 1793620800032, NULL);
SELECT pg_catalog.setval('public.nodes_epoch_seq', 1, true);
ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_name_key UNIQUE (name);
ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.alert_marks
    ADD CONSTRAINT alert_marks_key PRIMARY KEY (account_id, kind, subject);
ALTER TABLE ONLY public.alert_settings
    ADD CONSTRAINT alert_settings_pkey PRIMARY KEY (account_id);
ALTER TABLE ONLY public.alerts
    ADD CONSTRAINT alerts_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_hash_key UNIQUE (hash);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.audit_entries
    ADD CONSTRAINT audit_entries_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.ended_sessions
    ADD CONSTRAINT ended_sessions_key PRIMARY KEY (owner, session);
ALTER TABLE ONLY public.kept_answers
    ADD CONSTRAINT kept_answers_key PRIMARY KEY (account_id, operation, key);
ALTER TABLE ONLY public.kysely_migration_lock
    ADD CONSTRAINT kysely_migration_lock_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.kysely_migration
    ADD CONSTRAINT kysely_migration_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.ledger_entries
    ADD CONSTRAINT ledger_entries_key PRIMARY KEY (account_id, id);
ALTER TABLE ONLY public.limit_counts
    ADD CONSTRAINT limit_counts_key PRIMARY KEY (owner, unit, period);
ALTER TABLE ONLY public.needed_migrations
    ADD CONSTRAINT needed_migrations_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.nodes
    ADD CONSTRAINT nodes_pkey PRIMARY KEY (epoch);
ALTER TABLE ONLY public.rates
    ADD CONSTRAINT rates_pkey PRIMARY KEY (owner);
ALTER TABLE ONLY public.secrets
    ADD CONSTRAINT secrets_pkey PRIMARY KEY (purpose);
ALTER TABLE ONLY public.subscriptions
    ADD CONSTRAINT subscriptions_key PRIMARY KEY (account_id, kind);
ALTER TABLE ONLY public.usage_records
    ADD CONSTRAINT usage_records_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.usage_records_rest
    ADD CONSTRAINT usage_records_rest_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.usage_sums
    ADD CONSTRAINT usage_sums_key PRIMARY KEY (day, account_id, key_id, operation, model, state);
ALTER TABLE ONLY public.waiting_addresses
    ADD CONSTRAINT waiting_addresses_key PRIMARY KEY (account_id, address);
CREATE INDEX alerts_by_account ON public.alerts USING btree (account_id, id);
CREATE INDEX alerts_pending ON public.alerts USING btree (account_id, id) WHERE (state = 'pending'::text);
CREATE INDEX api_keys_by_account ON public.api_keys USING btree (account_id, id);
CREATE INDEX api_keys_provider_session ON public.api_keys USING btree (provider_session) WHERE (provider_session <> ''::text);
CREATE INDEX api_keys_subject ON public.api_keys USING btree (subject) WHERE (subject <> ''::text);
CREATE INDEX kept_answers_by_age ON public.kept_answers USING btree (created_at_ms);
CREATE INDEX kept_answers_open ON public.kept_answers USING btree (node_epoch) WHERE (answer IS NULL);
CREATE UNIQUE INDEX ledger_entries_once ON public.ledger_entries USING btree (account_id, reference) WHERE (kind <> 'debit'::text);
CREATE INDEX usage_records_by_account ON ONLY public.usage_records USING btree (account_id, id);
CREATE INDEX usage_records_huge ON ONLY public.usage_records USING btree (id) WHERE ((audio_ms_in >= '1099511627776'::bigint) OR (audio_ms_out >= '1099511627776'::bigint) OR (prompt_tokens >= '1099511627776'::bigint) OR (completion_tokens >= '1099511627776'::bigint) OR (cached_tokens >= '1099511627776'::bigint) OR (cache_write_tokens >= '1099511627776'::bigint));
CREATE INDEX usage_records_open ON ONLY public.usage_records USING btree (node_epoch) WHERE (state = 'started'::text);
CREATE INDEX usage_records_rest_account_id_id_idx ON public.usage_records_rest USING btree (account_id, id);
CREATE INDEX usage_records_rest_id_idx1 ON public.usage_records_rest USING btree (id) WHERE ((audio_ms_in >= '1099511627776'::bigint) OR (audio_ms_out >= '1099511627776'::bigint) OR (prompt_tokens >= '1099511627776'::bigint) OR (completion_tokens >= '1099511627776'::bigint) OR (cached_tokens >= '1099511627776'::bigint) OR (cache_write_tokens >= '1099511627776'::bigint));
CREATE INDEX usage_records_rest_node_epoch_idx ON public.usage_records_rest USING btree (node_epoch) WHERE (state = 'started'::text);
CREATE INDEX usage_sums_by_account ON public.usage_sums USING btree (account_id, day);
ALTER INDEX public.usage_records_by_account ATTACH PARTITION public.usage_records_rest_account_id_id_idx;
ALTER INDEX public.usage_records_huge ATTACH PARTITION public.usage_records_rest_id_idx1;
ALTER INDEX public.usage_records_open ATTACH PARTITION public.usage_records_rest_node_epoch_idx;
ALTER INDEX public.usage_records_pkey ATTACH PARTITION public.usage_records_rest_pkey;
CREATE TRIGGER account_changed BEFORE UPDATE OF name, limits, suspended_at_ms, deleted_at_ms ON public.accounts FOR EACH ROW EXECUTE FUNCTION public.parley_account_changed();
CREATE TRIGGER key_changed AFTER UPDATE OF name, scopes, expires_at_ms, revoked_at_ms, limits ON public.api_keys FOR EACH ROW EXECUTE FUNCTION public.parley_policy_changed();
CREATE TRIGGER ledger_entries_remain BEFORE DELETE ON public.ledger_entries FOR EACH ROW EXECUTE FUNCTION public.parley_refuse('ledger entries are never removed');
CREATE TRIGGER ledger_entries_stay BEFORE UPDATE ON public.ledger_entries FOR EACH ROW EXECUTE FUNCTION public.parley_refuse('ledger entries are never changed');
CREATE TRIGGER subscription_changed AFTER INSERT OR UPDATE ON public.subscriptions FOR EACH ROW EXECUTE FUNCTION public.parley_policy_changed();
ALTER TABLE ONLY public.alert_marks
    ADD CONSTRAINT alert_marks_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.alert_settings
    ADD CONSTRAINT alert_settings_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.alerts
    ADD CONSTRAINT alerts_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.kept_answers
    ADD CONSTRAINT kept_answers_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.subscriptions
    ADD CONSTRAINT subscriptions_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.waiting_addresses
    ADD CONSTRAINT waiting_addresses_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.accounts(id);
