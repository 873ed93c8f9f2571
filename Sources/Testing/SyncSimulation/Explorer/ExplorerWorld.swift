import SyncCore
import SyncModel

/// The state of two devices and a server, with all possible next moves. It is a value, which the explorer copies at
/// each branch.
struct ExplorerWorld: Hashable, Sendable {
    static let schema = ModelSchema(collection: "item", fields: [.integer("value")])

    static let policy: SyncPolicy = {
        var policy = SyncPolicy()
        policy.listensForHints = false
        policy.batch = BatchLimit(transactions: 2, bytes: 1_000_000)
        policy.pageRows = 2
        return policy
    }()

    /// A generator whose copies all draw the same numbers, because the explorer does not vary the lengths of waits.
    static let steady = SeededRandom(seed: 1, stream: "explorer")

    private(set) var devices: [ExplorerDevice]
    private(set) var server = ModelServer()
    private(set) var faultsLeft: Int

    init(scripts: [[ExplorerWrite]], faults: Int) {
        devices = scripts.enumerated().map { index, script in
            let client = ClientID(bits: Identifier128(high: 0, low: UInt64(index + 1)))
            return ExplorerDevice(name: "device \(index + 1)", client: client, script: script)
        }
        faultsLeft = faults
    }

    /// One possible next step.
    enum Move: Hashable, Sendable {
        case write(Int)
        /// The request arrives at the server, which sends its response.
        case serve(Int, Serial)
        /// The response arrives.
        case deliver(Int, Serial)
        /// The device's next timer fires while no message is in transit.
        case wait(Int)

        // Faults.
        case loseRequest(Int, Serial)
        case loseResponse(Int, Serial)
        case repeatRequest(Int, Serial)
        /// The next timer fires although a message is still in transit.
        case timeout(Int)
        case crash(Int)
        /// The operator removes the device's access, or gives it back.
        case changeAccess(Int)
        /// An abandoned push arrives after all. This move does not count as a fault.
        case lateRequestArrives(Int)

        var isFault: Bool {
            switch self {
            case .write, .serve, .deliver, .wait, .lateRequestArrives: false
            case .loseRequest, .loseResponse, .repeatRequest, .timeout, .crash, .changeAccess: true
            }
        }
    }

    /// All moves that are possible now, always in the same order.
    var moves: [Move] {
        var moves: [Move] = []
        for (index, device) in devices.enumerated() {
            if let write = device.script.first, canWrite(write, on: device) { moves.append(.write(index)) }
            for serial in device.inFlight.keys.sorted() {
                switch device.inFlight[serial] {
                case .request(let request)?:
                    moves.append(.serve(index, serial))
                    if faultsLeft > 0 {
                        moves.append(.loseRequest(index, serial))
                        if case .push = request { moves.append(.repeatRequest(index, serial)) }
                    }
                case .response?:
                    moves.append(.deliver(index, serial))
                    if faultsLeft > 0 { moves.append(.loseResponse(index, serial)) }
                case nil: break
                }
            }
            if device.inFlight.isEmpty, !isInSync(device) || !device.session.status(now: .zero).isInSync {
                moves.append(.wait(index))
            }
            if faultsLeft > 0 {
                if !device.inFlight.isEmpty { moves.append(.timeout(index)) }
                moves.append(.crash(index))
                // Changing the access of one device is enough to explore a loss of access.
                if index == 0 { moves.append(.changeAccess(index)) }
            }
            if !device.lateRequests.isEmpty { moves.append(.lateRequestArrives(index)) }
        }
        return moves
    }

    mutating func make(_ move: Move) {
        if move.isFault { faultsLeft -= 1 }
        switch move {
        case .write(let index): write(on: index)
        case .serve(let index, let serial):
            guard case .request(let request)? = devices[index].inFlight[serial] else { return }
            devices[index].put(serve(request, as: serial, of: index), at: serial)
        case .deliver(let index, let serial):
            guard case .response(let event)? = devices[index].take(serial) else { return }
            devices[index].handle(.server(event))
        case .wait(let index), .timeout(let index): devices[index].fireEarliest()
        case .loseRequest(let index, let serial), .loseResponse(let index, let serial): _ = devices[index].take(serial)
        case .repeatRequest(let index, let serial):
            // The first copy is served and its response lost. The second copy is still in transit.
            guard case .request(let request)? = devices[index].inFlight[serial] else { return }
            _ = serve(request, as: serial, of: index)
        case .crash(let index): devices[index].restart()
        case .changeAccess(let index): server.changeAccess(of: devices[index].store.client)
        case .lateRequestArrives(let index):
            if let request = devices[index].takeDelayedPush() { _ = server.push(request) }
        }
    }

    /// Returns whether the device holds what the server shows it and has nothing left to send.
    func isInSync(_ device: ExplorerDevice) -> Bool {
        let hasAccess = !server.shutOut.contains(device.store.client)
        return device.store.outbox.isEmpty && device.store.hasAccess == hasAccess
            && device.store.cursor == (hasAccess ? server.head : nil)
    }

    private func canWrite(_ write: ExplorerWrite, on device: ExplorerDevice) -> Bool {
        switch write.kind {
        case .create: true
        case .set, .delete: device.store.current(write.record) != nil
        }
    }

    private mutating func write(on index: Int) {
        let write = devices[index].script.removeFirst()
        switch write.kind {
        case .create(let value): devices[index].store.write(.create(["value": .integer(value)]), to: write.record)
        case .set(let value):
            let base = devices[index].store.base[write.record]
            let edit = FieldEdit(
                field: "value", value: .integer(value), before: base?.values[0] ?? .null, seen: base?.version ?? .zero)
            devices[index].store.write(.update([edit]), to: write.record)
        case .delete:
            let seen = devices[index].store.base[write.record]?.version ?? .zero
            devices[index].store.write(.delete(seen: seen), to: write.record)
        }
        devices[index].handle(.device(.outboxTouched))
    }

    private mutating func serve(_ request: EngineRequest, as serial: Serial, of index: Int) -> ServerEvent {
        switch request {
        case .hello: .helloEnded(serial, .success(server.hello()))
        case .push(let push): .pushEnded(serial, .success(server.push(push)))
        case .pull(let pull):
            .pullEnded(serial, .default, .success(server.pull(pull, by: devices[index].store.client)))
        case .hints: .hintsEnded(serial)
        }
    }
}
