use super::super::clock;
use core::time::Duration;
use tokio::time::timeout;

/// Far longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// The same behaviour is asked of every alarm.
macro_rules! behaves {
    ($name:ident, $alarm:ty) => {
        mod $name {
            use super::*;

            #[tokio::test]
            async fn it_rings_once_and_not_before_its_time() {
                let alarm = <$alarm>::new().unwrap();
                for _ in 0..3 {
                    let at = clock::now() + Duration::from_millis(7);
                    alarm.set(at);
                    timeout(PATIENCE, alarm.rings()).await.expect("rings").unwrap();
                    assert!(clock::now() >= at);
                    assert!(timeout(Duration::from_millis(20), alarm.rings()).await.is_err(), "rang twice");
                }
            }

            #[tokio::test]
            async fn a_new_setting_replaces_the_old() {
                let alarm = <$alarm>::new().unwrap();
                alarm.set(clock::now() + PATIENCE * 10);
                let at = clock::now() + Duration::from_millis(5);
                alarm.set(at);
                timeout(PATIENCE, alarm.rings()).await.expect("rings").unwrap();
                assert!(clock::now() >= at);
            }

            #[tokio::test]
            async fn a_past_time_rings_at_once() {
                let alarm = <$alarm>::new().unwrap();
                alarm.set(pcc::units::Timestamp::ZERO);
                timeout(PATIENCE, alarm.rings()).await.expect("rings").unwrap();
            }

            #[tokio::test]
            async fn it_can_be_set_while_somebody_waits() {
                let alarm = std::sync::Arc::new(<$alarm>::new().unwrap());
                let waiting = std::sync::Arc::clone(&alarm);
                let waiting = tokio::spawn(async move { waiting.rings().await });
                tokio::task::yield_now().await;
                alarm.set(clock::now() + Duration::from_millis(5));
                timeout(PATIENCE, waiting).await.expect("rings").unwrap().unwrap();
            }
        }
    };
}

#[cfg(target_os = "linux")]
behaves!(the_kernel_s, crate::pace::alarm::kernel::Alarm);
behaves!(the_portable_one, crate::pace::alarm::portable::Alarm);
