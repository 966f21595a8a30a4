/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* The core's constants; their reasons stand in the files named here. Numbers are the bits of
 * an f64, times are nanoseconds. Written by
 * `PCC_KERNEL_WRITE=1 cargo test -p pcc --test kernel_constants`.
 */
#ifndef PCC_CONSTANTS_H
#define PCC_CONSTANTS_H

/* crates/core/src/interval.rs */
#define INTERVAL_TRAIN 100000ULL /* 100µs */
#define INTERVAL_SHORTEST_TRIAL 1000000ULL /* 1ms */
#define INTERVAL_LIMITED_PART 10
#define INTERVAL_ACHIEVED_SHARE 0x3feccccccccccccdULL /* 0.9 */

/* crates/core/src/interval/report.rs */
#define REPORT_HOST_JITTER 0x3f40624dd2f1a9fcULL /* 0.0005 */
#define REPORT_ERRORS 0x4000000000000000ULL /* 2.0 */
#define REPORT_SURE_ERRORS 0x4014000000000000ULL /* 5.0 */

/* crates/core/src/monitor.rs */
#define MONITOR_LONGEST_INTERVAL 250000000ULL /* 250ms */
#define MONITOR_LEAST_GAP 1000000ULL /* 1ms */
#define MONITOR_LEAST_PACKETS 10

/* crates/core/src/rtt.rs */
#define RTT_ASSUMED 100000000ULL /* 100ms */
#define RTT_MOST_ACK_DELAY 25000000ULL /* 25ms */
#define RTT_HALF_WINDOW 5000000000ULL /* 5s */
#define RTT_SPREAD_MEMORY 3000000000ULL /* 3s */
#define RTT_SPREAD_WINDOW 200000000ULL /* 200ms */
#define RTT_MOST_SPREAD 100000000ULL /* 100ms */

/* crates/core/src/pcc.rs */
#define PCC_FASTEST 0x423d1a94a2000000ULL /* 125000000000.0 */

/* crates/core/src/pcc/judging.rs */
#define PCC_PANIC_PACKETS 20
#define PCC_PANIC_RUNS 3

/* crates/core/src/pcc/silence.rs */
#define PCC_LONG_IDLE 10000000000ULL /* 10s */
#define PCC_HOST_PAUSE 10000000ULL /* 10ms */

/* crates/core/src/pcc/window.rs */
#define PCC_INITIAL_WINDOW 10

/* crates/core/src/control/ascent/mod.rs */
#define ASCENT_LONG_ENOUGH 0x3f9999999999999aULL /* 0.025 */
#define ASCENT_SHORT 0x3f747ae147ae147bULL /* 0.005 */
#define ASCENT_ALONE 0x3fe8000000000000ULL /* 0.75 */
#define ASCENT_CROWD 0x4040000000000000ULL /* 32.0 */
#define ASCENT_DOUBTFUL 0x4000000000000000ULL /* 2.0 */
#define ASCENT_QUIET 0x4010000000000000ULL /* 4.0 */
#define ASCENT_DOUBLING 0x4000000000000000ULL /* 2.0 */
#define ASCENT_EPSILON 0x3f947ae147ae147bULL /* 0.02 */
#define ASCENT_STEP_MAX 0x3fd0000000000000ULL /* 0.25 */
#define ASCENT_BACK_OFF_MAX 0x3fe0000000000000ULL /* 0.5 */
#define ASCENT_INTERVAL_RTTS 0x3fe0000000000000ULL /* 0.5 */
#define ASCENT_INTERVAL_PACKETS 0x4044000000000000ULL /* 40.0 */
#define ASCENT_HORIZON_RTTS 0x3ff0000000000000ULL /* 1.0 */
#define ASCENT_PRICE_GAIN 0x3f9eb851eb851eb8ULL /* 0.03 */

/* crates/core/src/control/ascent/bottleneck.rs */
#define BOTTLENECK_DRIFT 0x3f9eb851eb851eb8ULL /* 0.03 */
#define BOTTLENECK_TELLING_LOSS 0x3f847ae147ae147bULL /* 0.01 */
#define BOTTLENECK_UNSURE 0x3f847ae147ae147bULL /* 0.01 */
#define BOTTLENECK_WEIGHT 0x3fd3333333333333ULL /* 0.3 */
#define BOTTLENECK_UNUSED 0x3fe6666666666666ULL /* 0.7 */

/* crates/core/src/control/ascent/deviation.rs */
#define DEVIATION_MEMORY 0x4008000000000000ULL /* 3.0 */

/* crates/core/src/control/ascent/forecast.rs */
#define FORECAST_HALVINGS 14
#define FORECAST_ABOVE 0x3ff004189374bc6aULL /* 1.001 */
#define FORECAST_BELOW 0x3feff7ced916872bULL /* 0.999 */
#define FORECAST_EQUAL 0x3e112e0be826d695ULL /* 1e-9 */
#define FORECAST_PACKETS 1000000
#define FORECAST_SENT 0x426d1a94a2000000ULL /* 1000000000000.0 */

/* crates/core/src/control/ascent/level.rs */
#define LEVEL_SUSPICIOUS_FALL 0x3fedc28f5c28f5c3ULL /* 0.93 */
#define LEVEL_STILL_THERE 0x3fe6666666666666ULL /* 0.7 */
#define LEVEL_TELLING_PACKETS 0x4008000000000000ULL /* 3.0 */
#define LEVEL_TELLING 0x3f40624dd2f1a9fcULL /* 0.0005 */
#define LEVEL_CERTAIN 0x4008000000000000ULL /* 3.0 */
#define LEVEL_TELLABLE 0x4028000000000000ULL /* 12.0 */
#define LEVEL_OVERFLOWS 0x3f847ae147ae147bULL /* 0.01 */
#define LEVEL_NOISY 0x3f747ae147ae147bULL /* 0.005 */
#define LEVEL_EMPTY 0x3f60624dd2f1a9fcULL /* 0.002 */
#define LEVEL_REST 0x3fc999999999999aULL /* 0.2 */
#define LEVEL_FORGETTING 0x3feff7ced916872bULL /* 0.999 */

/* crates/core/src/control/ascent/loss.rs */
#define LOSS_NOBODYS 0x4010000000000000ULL /* 4.0 */
#define LOSS_NOBODYS_MARKS 0x4058c00000000000ULL /* 99.0 */
#define LOSS_RARE 0x3fb999999999999aULL /* 0.1 */
#define LOSS_REMEMBERED 0x40a3880000000000ULL /* 2500.0 */
#define LOSS_RECENT 0x3fef333333333333ULL /* 0.975 */
#define LOSS_OTHERS 0x4010000000000000ULL /* 4.0 */
#define LOSS_CERTAIN 0x4049000000000000ULL /* 50.0 */
#define LOSS_SLOPE_OF_33 0x3f9eb851eb851eb8ULL /* 0.03 */
#define LOSS_SLOPE_OF_10 0x3fb999999999999aULL /* 0.1 */
#define LOSS_SLOPE_OF_3 0x3fd3333333333333ULL /* 0.3 */
#define LOSS_SLOPE_OF_1 0x3ff0000000000000ULL /* 1.0 */

/* crates/core/src/control/ascent/pair.rs */
#define PAIR_WEIGHT 0x3fb999999999999aULL /* 0.1 */
#define PAIR_RESOLUTION 0x3eb0c6f7a0b5ed8dULL /* 1e-6 */
#define PAIR_TELLING_GROWTH 0x3f60624dd2f1a9fcULL /* 0.002 */

/* crates/core/src/control/ascent/price.rs */
#define PRICE_UNUSUAL 0x4010000000000000ULL /* 4.0 */
#define PRICE_READ_TO 0x3e112e0be826d695ULL /* 1e-9 */

/* crates/core/src/control/ascent/rival.rs */
#define RIVAL_C 0x3fd999999999999aULL /* 0.4 */
#define RIVAL_BETA 0x3fe6666666666666ULL /* 0.7 */
#define RIVAL_MEMORY_RTTS 0x4024000000000000ULL /* 10.0 */
#define RIVAL_MEMORY 0x3fe0000000000000ULL /* 0.5 */
#define RIVAL_ENTER 0x3fe6666666666666ULL /* 0.7 */
#define RIVAL_LEAVE 0x3fa999999999999aULL /* 0.05 */
#define RIVAL_YIELD_RTTS 0x4010000000000000ULL /* 4.0 */
#define RIVAL_FELL 0x3feccccccccccccdULL /* 0.9 */
#define RIVAL_ANSWERED 0x4000000000000000ULL /* 2.0 */
#define RIVAL_DOUBLED 0x4000000000000000ULL /* 2.0 */

/* crates/core/src/control/driver.rs */
#define DRIVER_DRAIN_SHARE 0x3fe0000000000000ULL /* 0.5 */

/* crates/core/src/control/path.rs */
#define PATH_LIMITED_HEADROOM 0x3ffe666666666666ULL /* 1.9 */

/* crates/core/src/control/response.rs */
#define RESPONSE_MEMORY 0x3fee666666666666ULL /* 0.95 */

/* crates/core/src/control/starting.rs */
#define STARTING_DOUBLED 0x3ff8000000000000ULL /* 1.5 */
#define STARTING_RISE_DIVISOR 8
#define STARTING_TELLING_SAMPLES 5
#define STARTING_EXIT_SHARE 0x3fee666666666666ULL /* 0.95 */
#define STARTING_WAIT 0x3fc0000000000000ULL /* 0.125 */

/* crates/core/src/utility/expression/program.rs */
#define PCC_MOST_OPS 256
#define PCC_MOST_DEPTH 16
#define PCC_MOST_SLOTS 16

/* crates/core/src/utility/fair.rs */
#define FAIR_LAST 0x3eb0c6f7a0b5ed8dULL /* 1e-6 */

/* crates/core/src/utility/sender_view.rs */
#define FORECAST_OF_A_QUEUE 0x3fd28f5c28f5c28fULL /* 0.29 */

#endif
