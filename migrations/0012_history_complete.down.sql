-- As on the way up.
DO $$
DECLARE
    until TIMESTAMPTZ := clock_timestamp() + interval '30 seconds';
BEGIN
    PERFORM set_config('lock_timeout', '2s', true);
    LOOP
        BEGIN
            LOCK TABLE sperr_orders, sperr_order_history IN ACCESS EXCLUSIVE MODE;
            RETURN;
        EXCEPTION WHEN lock_not_available THEN
            IF clock_timestamp() > until THEN
                RAISE lock_not_available USING MESSAGE =
                    'somebody reads sperr_orders or sperr_order_history for long: end that transaction, then start again';
            END IF;
        END;
        PERFORM pg_sleep(1);
    END LOOP;
END $$;
DROP TRIGGER sperr_orders_history_of_update ON sperr_orders;
DROP TRIGGER sperr_orders_history_of_insert ON sperr_orders;
DROP FUNCTION sperr_orders_history_complete();
ALTER TABLE sperr_order_history DROP COLUMN xact;
