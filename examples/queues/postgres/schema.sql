-- A queue of jobs for any number of hosts. Each function is one statement of a hook, so a hook that dies, or a
-- host that is lost, leaves no partial change. It uses a separate schema, so the database may have other uses.

SET client_min_messages = warning;
CREATE SCHEMA IF NOT EXISTS htc_queue;
SET search_path = htc_queue;

CREATE TABLE IF NOT EXISTS job (
    id bigserial PRIMARY KEY,
    ad text NOT NULL,
    state text NOT NULL DEFAULT 'new' CHECK (state IN ('new', 'claimed', 'done', 'failed', 'cancelled')),
    attempt int NOT NULL DEFAULT 0,
    refused int NOT NULL DEFAULT 0,
    worker text,
    lease timestamptz,
    result text,
    outcome text
);
CREATE INDEX IF NOT EXISTS job_new ON job (refused, id) WHERE state = 'new';
CREATE INDEX IF NOT EXISTS job_lease ON job (lease) WHERE state = 'claimed';
CREATE TABLE IF NOT EXISTS history (at timestamptz NOT NULL DEFAULT now(), job bigint, attempt int, worker text, what text);

-- The last literal value of an attribute in a printed ad, without quotes.
CREATE OR REPLACE FUNCTION ad_value(ad text, name text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT trim(both '"' from found[1])
    FROM regexp_matches(ad, '^[ \t]*' || name || '[ \t]*=[ \t]*([^\n]*)', 'gni') WITH ORDINALITY AS line(found, number)
    ORDER BY number DESC LIMIT 1
$$;

-- Returns a job for this worker: the ad with the lines by which the later hooks recognize it. It does not wait for other
-- workers: jobs that they are about to fetch are skipped. A worker that has not renewed its lease in time has lost its job.
-- The output of the job is stored in the directory `output`, unless the job names another location.
CREATE OR REPLACE FUNCTION queue_fetch(taker text, held interval, output text) RETURNS SETOF text LANGUAGE sql SET search_path = htc_queue AS $$
    WITH lost AS (
        UPDATE job SET state = 'new', lease = NULL WHERE id IN (
            SELECT id FROM job WHERE state = 'claimed' AND lease < now() ORDER BY lease LIMIT 100 FOR UPDATE SKIP LOCKED)
        RETURNING id, attempt, worker
    ), noted AS (
        INSERT INTO history (job, attempt, worker, what) SELECT id, attempt, worker, 'lease lost' FROM lost
    ), next AS (
        SELECT id FROM job WHERE state = 'new' ORDER BY refused, id LIMIT 1 FOR UPDATE SKIP LOCKED
    )
    UPDATE job SET state = 'claimed', attempt = attempt + 1, worker = taker, lease = now() + held, outcome = NULL
    FROM next WHERE job.id = next.id
    RETURNING concat(rtrim(ad, E'\n'),
                     format(E'\nQueueName = "%s"\nQueueAttempt = %s\nClusterId = %s\nProcId = 0', job.id, attempt, job.id),
                     CASE WHEN ad_value(ad, 'Iwd') IS NULL THEN format(E'\nIwd = "%s"', output) END,
                     CASE WHEN ad_value(ad, 'Out') IS NULL THEN format(E'\nOut = "%s/%s.out"', output, job.id) END,
                     CASE WHEN ad_value(ad, 'Err') IS NULL THEN format(E'\nErr = "%s/%s.err"', output, job.id) END)
$$;

-- Records that the slot refused the job. It is offered again, after the others; after three refusals it has failed.
CREATE OR REPLACE FUNCTION queue_reject(text_of_job text) RETURNS void LANGUAGE sql SET search_path = htc_queue AS $$
    UPDATE job SET refused = refused + 1, lease = NULL, outcome = format('refused %s times', refused + 1),
                   state = CASE WHEN state = 'cancelled' THEN state WHEN refused + 1 < 3 THEN 'new' ELSE 'failed' END
    WHERE id = ad_value(text_of_job, 'QueueName')::bigint AND attempt = ad_value(text_of_job, 'QueueAttempt')::int
          AND state IN ('claimed', 'cancelled')
$$;

-- Renews the lease of a running job.
CREATE OR REPLACE FUNCTION queue_update(text_of_job text, held interval) RETURNS void LANGUAGE sql SET search_path = htc_queue AS $$
    UPDATE job SET lease = now() + held
    WHERE id = ad_value(text_of_job, 'QueueName')::bigint AND attempt = ad_value(text_of_job, 'QueueAttempt')::int
          AND lease IS NOT NULL
$$;

-- Records that the job has ended (exit, hold), or was removed or evicted. If its lease has expired, another slot has it, and
-- the late end is only recorded.
CREATE OR REPLACE FUNCTION queue_end(how text, text_of_job text) RETURNS void LANGUAGE plpgsql SET search_path = htc_queue AS $$
DECLARE
    to_state text := 'new';
    said text := 'did not finish: ' || how;
    number bigint := ad_value(text_of_job, 'QueueName');
    try int := ad_value(text_of_job, 'QueueAttempt');
BEGIN
    IF how = 'exit' AND ad_value(text_of_job, 'ExitBySignal') = 'true' THEN
        to_state := 'failed';
        said := 'died by signal ' || ad_value(text_of_job, 'ExitSignal');
    ELSIF how = 'exit' THEN
        said := 'exited with status ' || ad_value(text_of_job, 'ExitCode');
        to_state := CASE WHEN ad_value(text_of_job, 'ExitCode') = '0' THEN 'done' ELSE 'failed' END;
    ELSIF how = 'hold' THEN
        to_state := 'failed';
        said := 'held: ' || coalesce(ad_value(text_of_job, 'HoldReason'), '');
    END IF;
    -- A job that was evicted ten times is not tried again.
    IF to_state = 'new' AND try >= 10 THEN to_state := 'failed'; END IF;
    UPDATE job SET state = CASE WHEN state = 'cancelled' THEN state ELSE to_state END, outcome = said, lease = NULL,
                   result = CASE WHEN how IN ('exit', 'hold') THEN text_of_job END
    WHERE id = number AND attempt = try AND lease IS NOT NULL;
    IF NOT FOUND THEN said := 'late end: ' || how; END IF;
    INSERT INTO history (job, attempt, what) VALUES (number, try, said);
END
$$;
