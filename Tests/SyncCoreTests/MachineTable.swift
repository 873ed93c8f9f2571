import SyncModel

@testable import SyncCore

/// Sends every listed event to a machine in every listed state, and describes each transition in one line.
struct MachineTable<Machine: Hashable & Sendable> {
    /// The actions of a machine, and its report to the session.
    typealias Output = (actions: [SyncAction], report: String?)
    typealias Event = (name: String, send: (inout Machine, inout Turn) -> Output)

    let states: [(name: String, machine: Machine)]
    let events: [Event]
    /// Returns the name of a machine's state.
    let describe: (Machine) -> String

    /// One line for each event that a state does not ignore.
    var moves: [String] {
        states.flatMap { state in
            events.compactMap { event in
                var machine = state.machine
                let response = Self.send(event, to: &machine)
                guard machine != state.machine || !response.actions.isEmpty || response.report != nil else {
                    return nil
                }
                let words = response.actions.map(Self.word) + (response.report.map { ["(\($0))"] } ?? [])
                return "\(state.name) | \(event.name) | \(describe(machine)) | \(words.joined(separator: " "))"
                    .trimmingSpaces
            }
        }
    }

    /// Returns the pairs of a state and an event in which the event has an effect even when it arrives a second time in
    /// a row.
    ///
    /// - Parameter responses: The names of the events to send. They should end a wait, so that a repeat is ignored.
    func repeatable(_ responses: Set<String>) -> [String] {
        states.flatMap { state in
            events.filter { responses.contains($0.name) }.compactMap { event in
                var machine = state.machine
                _ = Self.send(event, to: &machine)
                let once = machine
                let response = Self.send(event, to: &machine)
                let isIgnored = machine == once && response.actions.isEmpty && response.report == nil
                return isIgnored ? nil : "\(state.name) | \(event.name)"
            }
        }
    }

    private static func send(_ event: Event, to machine: inout Machine) -> Output {
        var turn = Turn(now: .seconds(1_000), policy: SyncPolicy(), random: TestRandom(seed: 1), nextSerial: 100)
        return event.send(&machine, &turn)
    }

    private static func word(_ action: SyncAction) -> String {
        switch action {
        case .server(.send(_, .hello)): "hello"
        case .server(.send(_, .push)): "push"
        case .server(.send(_, .pull)): "pull"
        case .server(.send(_, .hints)): "hints"
        case .server(.closeHints(let serial)): "close\(serial)"
        case .server(.abandon(let serial)): "abandon\(serial)"
        case .timer(.arm): "arm"
        case .timer(.disarm(let serial)): "disarm\(serial)"
        case .store(.countOutbox): "count"
        case .store(.readSpaces): "spaces"
        case .store(.takeBatch): "take"
        case .store(.record): "record"
        case .store(.apply): "apply"
        case .store(.withdraw): "withdraw"
        case .store(.resetCursor): "reset"
        case .store(.vacate): "vacate"
        case .store(.adopt): "adopt"
        case .store(.renewIdentity): "renew"
        case .note: "note"
        case .checkpoint: "checkpoint"
        case .finish: "finish"
        }
    }
}

extension String {
    fileprivate var trimmingSpaces: String {
        var text = self
        while text.hasSuffix(" ") { text.removeLast() }
        return text
    }
}

extension Serial {
    // The request and the timer that a state of a table waits for.
    static let request = Serial(rawValue: 1)
    static let timer = Serial(rawValue: 2)
    // A request and a timer that no state of a table waits for.
    static let lateRequest = Serial(rawValue: 3)
    static let lateTimer = Serial(rawValue: 4)
}

extension ArmedTimer {
    static let armed = ArmedTimer(serial: .timer, due: .seconds(2_000))
}
