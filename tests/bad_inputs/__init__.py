"""Bad inputs: for each, what is expected, and the tests that show it.

Typed errors or valid values, never another exception, a hang, or memory without a bound. What is
real here is real: consumers, coordinators and commands are processes, beside a server. The
"twin" is the same pool in memory. `test_table.py` checks that every test named below exists.

payload of 0 B, at the limit, beyond it, of 100 MB: taken, or PayloadTooLargeError before any I/O
    test_pool.py::test_a_payload_of_nothing_and_one_at_the_limit_are_taken
    test_pool.py::test_a_payload_beyond_the_limit_is_refused_at_once_and_without_a_server
    ../integration/client/test_pool.py::test_the_limit_of_a_payload_is_that_of_the_pool

NaN and infinities in payloads and results: InvalidInputError, `bad-result`; the field is named
    test_numbers.py::test_a_payload_is_refused_by_the_name_of_its_field
    test_numbers.py::test_a_result_comes_back_whole_or_is_refused

partition keys of any bytes: taken or refused, one partition, a group of their own
    test_pool.py::test_a_key_of_any_bytes_has_one_partition_and_a_group_of_its_own
    test_pool.py::test_a_key_that_is_none_is_refused_and_nothing_is_enqueued
    test_fuzz_producer.py::test_any_key_has_one_partition_or_is_refused
    ../integration/client/test_pool.py::test_a_key_of_any_bytes_touches_no_other_group

names of stages and queues: an error at construction
    ../unit/protocol/test_names.py::test_a_name_that_redis_could_misread_is_refused

tiers, delays, attempts, timeouts, backoffs, ids out of range, or of any type
    test_pool.py::test_an_option_out_of_range_enqueues_nothing
    test_fuzz_producer.py::test_any_option_is_taken_or_refused
    test_fuzz_producer.py::test_any_option_of_a_task_is_taken_or_refused
    test_fuzz_producer.py::test_any_backoff_is_refused_or_gives_finite_delays
    ../unit/client/test_producer.py::test_a_bad_option_is_refused_for_the_call_and_for_one_job
    ../unit/client/test_producer.py::test_an_id_of_ones_own_has_a_form

batches of 0, 1, 200, 201 and a million jobs; an id twice in one call; an iterable that fails
    test_pool.py::test_a_batch_of_any_size_has_a_result_a_job
    test_pool.py::test_a_million_jobs_in_one_call_have_a_result_each
    test_pool.py::test_an_id_twice_in_one_call_is_one_job
    test_pool.py::test_an_iterable_that_fails_leaves_what_came_before

stored bodies that are corrupted, cut, or of another version: dead as `undecodable`, bytes kept
    test_bodies.py::test_every_damaged_job_dies_as_it_is_and_the_others_run
    test_bodies.py::test_it_can_be_looked_at_buried_replayed_and_discarded
    test_bodies.py::test_it_goes_back_is_retried_and_recovered_like_any_other
    test_fuzz_codec.py::test_any_body_is_read_or_undecodable
    test_fuzz_codec.py::test_options_that_no_producer_sets_are_undecodable

commands of any kind: clamped, or refused with a metric; the consumer lives
    test_commands.py::test_bad_commands_are_refused_with_a_metric_and_a_good_one_is_obeyed
    test_commands.py::test_a_damaged_note_of_the_last_command_does_not_stop_the_next_owner
    test_commands.py::test_whatever_a_command_holds_the_target_stays_in_bounds
    ../contract/test_leading.py::test_a_stale_leader_is_refused_once_its_successor_has_spoken

checkpoints that are missing, negative, huge or old: default, clamp, decay
    test_checkpoints.py::test_a_consumer_starts_within_its_bounds
    test_checkpoints.py::test_whatever_is_stored_the_count_stays_in_bounds
    ../property/test_restore.py::test_no_record_however_bad_leaves_the_bounds

gRPC: random bytes and values, 10 MB, tokens, page sizes, callers that do not read
    test_grpc.py::test_random_bytes_have_an_answer_or_a_code
    test_grpc.py::test_any_values_are_answered_or_refused
    test_grpc.py::test_without_the_token_every_call_is_refused
    test_grpc.py::test_messages_of_ten_megabytes_are_refused_and_leave_no_memory_behind
    ../integration/coordinator/test_api.py::test_an_unknown_partition_is_not_found
    ../integration/coordinator/test_api.py::test_a_caller_that_does_not_read_costs_no_memory
    ../integration/coordinator/test_api.py::test_only_so_many_streams_are_open_at_once

handlers that do their worst: a failed attempt, text cut at 4 kB, everyone else continues
    test_handlers.py::test_whatever_is_raised_fails_the_attempt_alone
    test_handlers.py::test_whatever_is_returned_and_is_no_result_fails_the_attempt_alone
    test_handlers.py::test_bad_manners_do_no_harm
    test_handlers.py::test_what_a_handler_leaves_behind_keeps_no_process_from_ending
    test_handlers.py::test_a_blocked_event_loop_holds_up_async_jobs_alone
    test_handlers.py::test_what_breaks_the_whole_process_counts_as_a_crash_of_its_job
    test_memory_handlers.py::test_whatever_is_raised_is_in_the_report

settings: every problem at once with its variable, exit code 2
    test_settings.py::test_every_problem_is_printed_at_once_with_its_variable
    test_settings.py::test_any_settings_of_a_pool_are_refused_or_work
    test_settings.py::test_any_settings_of_a_consumer_are_refused_or_work
    test_settings.py::test_any_settings_of_a_coordinator_are_refused_or_work

rows of `queuepool bulk`: payloads, or an error that names its line
    test_rows.py::test_any_text_is_rows_or_an_error_with_a_line
    test_rows.py::test_any_bytes_are_rows_or_an_error
    test_rows.py::test_bulk_names_the_line_of_a_row_that_is_no_json_and_enqueues_nothing
"""
