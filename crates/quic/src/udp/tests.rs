use super::*;
use core::future::poll_fn;
use core::task::Waker;
use pcc::units::Timestamp;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use tokio::time::timeout;

/// Far longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(20);

fn bound() -> (Socket, SocketAddr) {
    let socket = Socket::new(UdpSocket::bind("127.0.0.1:0").unwrap()).unwrap();
    let address = socket.local_addr().unwrap();
    (socket, address)
}

/// Sizes of the datagrams that arrive next: a batch.
async fn receive(socket: &mut Socket) -> Vec<usize> {
    const BATCH: usize = 4;
    let mut storage = vec![[0_u8; 2048]; BATCH];
    let mut meta = [RecvMeta::default(); BATCH];
    let receiving = poll_fn(|cx| {
        let mut buffers: Vec<_> = storage.iter_mut().map(|buffer| IoSliceMut::new(buffer)).collect();
        socket.poll_recv(cx, &mut buffers, &mut meta)
    });
    let count = timeout(PATIENCE, receiving).await.expect("woken").unwrap();
    meta[..count].iter().map(|meta| meta.len).collect()
}

fn transmit(to: SocketAddr, contents: &[u8]) -> Transmit<'_> {
    Transmit { destination: to, ecn: None, contents, segment_size: None, src_ip: None }
}

#[tokio::test]
async fn what_arrives_after_a_batch_that_was_not_full_is_heard_of() {
    let (mut socket, address) = bound();
    let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
    for size in 1..200 {
        peer.send_to(&vec![0; size], address).unwrap();
        assert_eq!(receive(&mut socket).await, [size]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_overlooked_that_arrives_while_a_batch_is_taken() {
    const COUNT: usize = 20_000;
    let (mut socket, address) = bound();
    let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
    let (done, window) = std::sync::mpsc::channel();
    let sending = std::thread::spawn(move || {
        for number in 0..COUNT {
            if number >= 8 {
                window.recv().unwrap(); // never more on the way than the buffer holds
            }
            peer.send_to(&[0; 10], address).unwrap();
        }
    });
    let mut received = 0;
    while received < COUNT {
        let batch = receive(&mut socket).await.len();
        received += batch;
        (0..batch).for_each(|_| _ = done.send(()));
    }
    sending.join().unwrap();
}

#[tokio::test]
async fn batches_are_taken_until_one_is_not_full() {
    let (mut socket, address) = bound();
    let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
    for size in 1..=8 {
        peer.send_to(&vec![0; size], address).unwrap();
    }
    assert_eq!(receive(&mut socket).await, [1, 2, 3, 4]);
    assert_eq!(receive(&mut socket).await, [5, 6, 7, 8]);
    peer.send_to(&[0; 9], address).unwrap();
    assert_eq!(receive(&mut socket).await, [9]);
}

#[tokio::test]
async fn packets_leave_without_anybody_watching_for_room() {
    let (socket, _) = bound();
    let (mut peer, address) = bound();
    let mut sender = socket.create_sender();
    for size in 1..100 {
        let contents = vec![0; size];
        poll_fn(|cx| sender.as_mut().poll_send(&transmit(address, &contents), cx)).await.unwrap();
        assert_eq!(receive(&mut peer).await, [size]);
    }
    assert!(!socket.outlet.room.is_watched());
}

#[tokio::test]
async fn a_packet_that_the_system_refuses_is_reported_and_forgotten() {
    let (socket, _) = bound();
    let mut sender = Sender { outlet: socket.outlet, sending: Sending::default(), reported: None };
    let nowhere = "[::1]:9".parse().unwrap(); // of another family than the socket
    let mut cx = Context::from_waker(Waker::noop());
    for _ in 0..2 {
        assert!(matches!(Pin::new(&mut sender).poll_send(&transmit(nowhere, b"hello"), &mut cx), Poll::Ready(Ok(()))));
    }
    assert!(sender.reported.is_some());
}

#[tokio::test]
async fn who_finds_no_room_waits_for_it_and_watch_ends_with_wait() {
    // UDP over loopback never refuses; a socket of the other family with datagrams does when its reader is slow.
    let (ours, theirs) = UnixDatagram::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    let socket = UdpSocket::from(OwnedFd::from(ours.try_clone().unwrap()));
    let send = || ours.send(&[0; 1000]).map(|_| ());
    let room = Room::default();
    let (mut one, mut other) = (Sending::default(), Sending::default());
    let mut cx = Context::from_waker(Waker::noop());
    for round in 0..3 {
        let mut on_the_way = 0;
        while one.poll(&mut cx, &room, &socket, send).is_ready() {
            on_the_way += 1;
            assert!(on_the_way < 1_000_000, "it never refuses");
        }
        assert!(other.poll(&mut cx, &room, &socket, send).is_pending());
        assert!(room.is_watched(), "round {round}");
        for _ in 0..on_the_way {
            theirs.recv(&mut [0; 1000]).unwrap();
        }
        for sending in [&mut one, &mut other] {
            timeout(PATIENCE, poll_fn(|cx| sending.poll(cx, &room, &socket, send))).await.expect("woken").unwrap();
            theirs.recv(&mut [0; 1000]).unwrap();
        }
        assert!(!room.is_watched(), "round {round}");
    }
}

/// The receptions of a task in noq's place: for each batch the time at which noq would assume that it came, and its
/// sizes. `work` is done by the host in the first turn, between the task's question for the time and its look.
async fn received_in_turns(
    mut socket: Socket,
    datagrams: usize,
    work: impl FnOnce() + Send + 'static,
) -> Vec<(Timestamp, Vec<usize>)> {
    let (done, all) = tokio::sync::oneshot::channel();
    let (mut done, mut work, mut received) = (Some(done), Some(work), Vec::new());
    let task = poll_fn(move |cx| {
        let taken_for = pace::now();
        if let Some(work) = work.take() {
            work();
        }
        let mut storage = vec![[0_u8; 2048]; 4];
        let mut meta = [RecvMeta::default(); 4];
        loop {
            let mut buffers: Vec<_> = storage.iter_mut().map(|buffer| IoSliceMut::new(buffer)).collect();
            let count = ready!(socket.poll_recv(cx, &mut buffers, &mut meta)).unwrap();
            received.push((taken_for, meta[..count].iter().map(|meta| meta.len).collect()));
            if received.iter().map(|(_, sizes): &(_, Vec<usize>)| sizes.len()).sum::<usize>() == datagrams {
                _ = done.take().unwrap().send(core::mem::take(&mut received));
                return Poll::Ready(());
            }
        }
    });
    let turns = pace::PollScope::new(Box::pin(task), Arc::new(pace::Timer::start().unwrap()));
    timeout(PATIENCE, turns).await.expect("woken");
    all.await.unwrap()
}

const STOP: Duration = Duration::from_millis(300);

#[tokio::test]
async fn what_waited_for_the_host_came_when_the_kernel_says() {
    let (socket, address) = bound();
    // Where no other socket of the host asks for times, Linux begins to note them only when it finds the time for that.
    std::thread::sleep(STOP);
    let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut sent = Vec::new();
    for size in 1..=3 {
        let before = pace::now();
        peer.send_to(&vec![0; size], address).unwrap();
        sent.push((before, pace::now()));
        std::thread::sleep(STOP);
    }
    let received = received_in_turns(socket, 3, || ()).await;
    for (number, (taken_for, sizes)) in received.iter().enumerate() {
        assert_eq!(*sizes, [number + 1], "each in a turn of its own, in order, and whole");
        let (before, after) = sent[number];
        let (early, late) = (before.since(*taken_for), taken_for.since(after));
        assert!(early < STOP / 100 && late < STOP / 2, "{number}: {early:?} too early or {late:?} too late");
    }
}

#[tokio::test]
async fn no_packet_arrives_before_it_left_on_a_stopped_host() {
    let (socket, address) = bound();
    let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
    let (told, sent) = std::sync::mpsc::channel();
    let received = received_in_turns(socket, 1, move || {
        std::thread::sleep(STOP);
        pace::time_passes();
        told.send(pace::now()).unwrap();
        peer.send_to(&[0; 7], address).unwrap();
    });
    let received = received.await;
    let early = sent.recv().unwrap().since(received[0].0);
    assert!(early < STOP / 100, "taken for {early:?} earlier than it was sent");
    assert_eq!(received[0].1, [7]);
}
