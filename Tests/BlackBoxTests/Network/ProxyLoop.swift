import Glibc
import SyncSimulation

/// The proxy's state and one iteration of its loop.
struct ProxyLoop {
    private let listener: Int32
    private var random: SeededRandom
    private var pairs: [Pair] = []
    private var cutsSeen = 0
    private(set) var traffic = ProxyTraffic()
    private let start = ContinuousClock.now

    /// One direction of a connection.
    private struct Direction {
        let from: Int32
        let to: Int32
        let isUp: Bool
        var waiting: [(due: Duration, bytes: ArraySlice<UInt8>)] = []
        var passed = 0
        var hasEnded = false
        var isShut = false
        /// The last bytes received, which may contain the beginning of a request head.
        var tail: [UInt8] = []
    }

    private struct Pair {
        var up: Direction
        var down: Direction
        var isSilent = false
        var isOver = false
    }

    init(listener: Int32, random: SeededRandom) {
        self.listener = listener
        self.random = random
    }

    private static let pieceBytes = 16 * 1_024
    private static let waitingPieces = 64
    private static let requestMark = Array(" HTTP/1.1\r\n".utf8)

    mutating func end() {
        for pair in pairs { Self.reset(pair) }
        pairs = []
        close(listener)
    }

    mutating func turn(_ orders: ByteProxy.Control) {
        if orders.cuts != cutsSeen {
            cutsSeen = orders.cuts
            traffic.cut += pairs.count
            for pair in pairs { Self.reset(pair) }
            pairs = []
        }
        var polled = [pollfd(fd: listener, events: Int16(POLLIN), revents: 0)]
        let holdsAnswers = orders.conditions.holdsResponsesFrom.map { traffic.requests >= $0 } ?? false
        for pair in pairs {
            for lane in [pair.up, pair.down] {
                let isHeld = holdsAnswers && !lane.isUp
                let listens = !isHeld && !lane.hasEnded && lane.waiting.count < Self.waitingPieces
                // Events on a silent connection are ignored, even its end.
                polled.append(
                    pollfd(fd: pair.isSilent ? -1 : lane.from, events: listens ? Int16(POLLIN) : 0, revents: 0))
            }
        }
        poll(&polled, nfds_t(polled.count), 4)
        let now = ContinuousClock.now - start
        for index in pairs.indices where !pairs[index].isSilent {
            var pair = pairs[index]
            if orders.conditions.isHalfOpen {
                pair.isSilent = true
                traffic.silenced += 1
            } else {
                if polled[1 + 2 * index].revents != 0 { read(&pair.up, &pair.isOver, orders.conditions, now) }
                write(&pair.up, &pair.isOver, orders.conditions, now)
                // This is checked again for each connection, because the data just read may contain the request that
                // reaches the limit.
                if orders.conditions.holdsResponsesFrom.map({ traffic.requests < $0 }) ?? true {
                    if polled[2 + 2 * index].revents != 0 { read(&pair.down, &pair.isOver, orders.conditions, now) }
                    write(&pair.down, &pair.isOver, orders.conditions, now)
                }
                if pair.up.isShut, pair.down.isShut { pair.isOver = true }
            }
            pairs[index] = pair
        }
        for pair in pairs where pair.isOver {
            if pair.up.isShut, pair.down.isShut {
                close(pair.up.from)
                close(pair.up.to)
            } else {
                Self.reset(pair)
            }
        }
        pairs.removeAll { $0.isOver }
        if polled[0].revents & Int16(POLLIN) != 0 { accept(orders) }
    }

    private mutating func accept(_ orders: ByteProxy.Control) {
        while true {
            let client = Glibc.accept(listener, nil, nil)
            guard client >= 0 else { return }
            traffic.connections += 1
            _ = fcntl(client, F_SETFD, FD_CLOEXEC)
            LoopbackSocket.setNonBlocking(client)
            guard !orders.conditions.refuses, let server = LoopbackSocket.connected(to: orders.upstream) else {
                LoopbackSocket.reset(client)
                continue
            }
            pairs.append(
                Pair(
                    up: Direction(from: client, to: server, isUp: true),
                    down: Direction(from: server, to: client, isUp: false)))
        }
    }

    private mutating func read(
        _ lane: inout Direction, _ isOver: inout Bool, _ conditions: ProxyConditions, _ now: Duration
    ) {
        while !lane.hasEnded, !isOver, lane.waiting.count < Self.waitingPieces {
            var bytes = [UInt8](repeating: 0, count: Self.pieceBytes)
            let count = recv(lane.from, &bytes, bytes.count, 0)
            if count < 0 {
                if errno != EAGAIN && errno != EINTR { isOver = true }
                return
            }
            guard count > 0 else {
                lane.hasEnded = true
                return
            }
            var piece = Array(bytes[..<count])
            note(piece, &lane)
            if conditions.damage > 0, random.below(1_000) < conditions.damage {
                piece[random.below(count)] ^= 1 << UInt8(random.below(8))
                traffic.damaged += 1
            }
            lane.waiting.append((now + conditions.delay, piece[...]))
        }
    }

    private mutating func note(_ piece: [UInt8], _ lane: inout Direction) {
        guard lane.isUp else {
            traffic.bytesDown += piece.count
            return
        }
        traffic.bytesUp += piece.count
        traffic.piecesUp += 1
        let text = lane.tail + piece
        let mark = Self.requestMark
        var index = 0
        while index + mark.count <= text.count {
            if text[index] == mark[0], text[index..<index + mark.count].elementsEqual(mark) { traffic.requests += 1 }
            index += 1
        }
        lane.tail = Array(text.suffix(mark.count - 1))
    }

    private mutating func write(
        _ lane: inout Direction, _ isOver: inout Bool, _ conditions: ProxyConditions, _ now: Duration
    ) {
        while let first = lane.waiting.first, first.due <= now, !isOver {
            var bytes = first.bytes
            let cut = lane.isUp ? conditions.cutAfterUp : conditions.cutAfterDown
            if let cut { bytes = bytes.prefix(max(0, cut - lane.passed)) }
            if !lane.isUp, let place = conditions.damagedByteDown, lane.passed..<lane.passed + bytes.count ~= place {
                bytes[bytes.startIndex + place - lane.passed] ^= 1
                traffic.damaged += 1
            }
            var sent = 0
            if !bytes.isEmpty {
                sent = bytes.withUnsafeBytes { send(lane.to, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                if sent < 0 {
                    if errno != EAGAIN && errno != EINTR { isOver = true }
                    return
                }
            }
            lane.passed += sent
            if let cut, lane.passed >= cut {
                // The bytes before the cut must arrive. Therefore, the stream ends normally: a reset could discard
                // them.
                traffic.cut += 1
                lane.waiting = []
                shutdown(lane.to, Int32(SHUT_WR))
                shutdown(lane.from, Int32(SHUT_RDWR))
                lane.hasEnded = true
                lane.isShut = true
                return
            }
            if sent == first.bytes.count {
                lane.waiting.removeFirst()
            } else {
                lane.waiting[0].bytes = first.bytes.dropFirst(sent)
            }
        }
        if lane.hasEnded, lane.waiting.isEmpty, !lane.isShut {
            shutdown(lane.to, Int32(SHUT_WR))
            lane.isShut = true
        }
    }

    private static func reset(_ pair: Pair) {
        LoopbackSocket.reset(pair.up.from)
        LoopbackSocket.reset(pair.up.to)
    }
}
