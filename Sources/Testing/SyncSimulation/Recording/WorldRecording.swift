import SyncConcurrency

/// A recording of a simulation for a report: events, messages, and the contents of every party after each step.
///
/// Recording does not affect the run: it draws no random numbers, runs no jobs, and reads only copies of disks. A run
/// without a recording does none of this work.
public final class WorldRecording: Sendable {
    struct State: Sendable {
        var title = ""
        var facts: [Holdings.Fact] = []
        var parties: [String] = []
        var moments = 0
        var calls = 0
        var messages = 0
        var events: BoundedLog<RecordedEvent>
        var traffic: BoundedLog<RecordedMessage>
        var steps: BoundedLog<RecordedStep>
        /// The request that the server is handling; nil when there is none.
        var inHand: RecordedMessage.ID?
        /// The server's last note about the request that it handles, or handled last; nil when there is none.
        var response: (label: String, detail: String)?
        /// The outcomes that the server has returned before. Repeating one is not a new commit.
        var outcomes: Set<String> = []
        /// The state of each party's disk at the last check: the number of changes, the number of faults, and the
        /// contents.
        var disks: [String: (changes: Int, faults: Int, holdings: Holdings)] = [:]
        var asleep: Set<String> = []
        var cutOff: Set<String> = []
        var failure: String?
        var isClosed = false
    }

    let state: Guarded<State>

    /// - Parameters:
    ///   - events: the number of last events to keep.
    ///   - messages: the number of last messages to keep.
    ///   - steps: the number of last steps to keep.
    public init(
        events: Int = SimulationLimits.recordedEvents, messages: Int = SimulationLimits.recordedMessages,
        steps: Int = SimulationLimits.recordedSteps
    ) {
        state = Guarded(
            State(
                events: BoundedLog(limit: max(events, 1)), traffic: BoundedLog(limit: max(messages, 1)),
                steps: BoundedLog(limit: max(steps, 1))))
    }

    // MARK: Contents

    /// The name of the run.
    public var title: String { state.withLock { $0.title } }
    /// Facts about the whole run, such as its seed and its faults.
    public var facts: [Holdings.Fact] { state.withLock { $0.facts } }
    /// The names of the devices and of the server.
    public var parties: [String] { state.withLock { $0.parties } }
    /// The last events, in order.
    public var events: [RecordedEvent] { state.withLock { $0.events.entries } }
    /// The last messages, in the order in which they were sent.
    public var messages: [RecordedMessage] { state.withLock { $0.traffic.entries } }
    /// The last steps, in order.
    public var steps: [RecordedStep] { state.withLock { $0.steps.entries } }
    /// The failure of the run; nil when there was none.
    public var failure: String? { state.withLock { $0.failure } }
    /// The number of early events, messages, and steps that were not kept.
    public var forgotten: Int {
        state.withLock { $0.events.forgotten + $0.traffic.forgotten + $0.steps.forgotten }
    }

    // MARK: The run

    func begin(_ script: WorldScript, _ devices: [String]) {
        var setting = script
        setting.moments = []
        setting.planned = []
        let facts = setting.text.split(separator: "\n").dropFirst().map { line in
            let words = line.split(separator: " ", maxSplits: 1).map(String.init)
            return Holdings.Fact(name: words[0], value: words.dropFirst().joined())
        }
        state.withLock { state in
            state.title =
                "Seed \(script.setting.seed): \(devices.count) \(devices.count == 1 ? "device" : "devices"), \(script.moments.count) steps"
            state.parties = devices + ["server"]
            state.facts = facts
        }
    }

    /// Stops recording events after a successful run. Only cleanup follows.
    func close() {
        state.withLock { $0.isClosed = true }
    }

    func add(_ report: WorldReport) {
        state.withLock { state in
            let hash = String(report.hash, radix: 16)
            for (name, value) in [
                ("operations", "\(report.operations)"), ("commits", "\(report.commits)"),
                ("lasted", "\(report.duration)"),
                ("at rest after", "\(report.timeToRest)"), ("trace", hash),
            ] {
                state.facts.append(Holdings.Fact(name: name, value: value))
            }
        }
    }

    // MARK: Events

    func event(_ text: String, by party: String, at time: Duration, as kind: EventKind, detail: String = "") {
        state.withLock { $0.event(text, by: party, at: time, as: kind, detail: detail) }
    }

    /// Records the failure of the run and stops recording events. The event belongs to the party that the text names
    /// first.
    func fail(_ text: String, at time: Duration) {
        state.withLock { state in
            state.isClosed = false
            defer { state.isClosed = true }
            state.failure = text
            let party = state.parties
                .compactMap { name in text.offset(of: name).map { (name, $0) } }
                .min { $0.1 < $1.1 }?.0
            state.event(text, by: party ?? "world", at: time, as: .violation, detail: "")
        }
    }

    /// Remembers an outcome as returned. Returns whether it is new.
    func markReturned(_ outcome: String) -> Bool {
        state.withLock { $0.outcomes.insert(outcome).inserted }
    }

    // MARK: Messages

    /// Returns the number of a new call, which its messages carry.
    func call() -> Int {
        state.withLock { state in
            state.calls += 1
            return state.calls
        }
    }

    func sent(
        _ kind: RecordedMessage.Kind, _ label: String, detail: String = "", call: Int, copy: Int = 0,
        from sender: String, to receiver: String, at time: Duration, isLate: Bool = false
    ) -> RecordedMessage.ID {
        state.withLock { state in
            let id = state.messages
            state.messages += 1
            state.traffic.append(
                RecordedMessage(
                    id: id, kind: kind, call: call, copy: copy, sender: sender, receiver: receiver,
                    label: Self.bounded(label), detail: Self.bounded(detail), sent: state.moment(at: time),
                    isLate: isLate))
            return id
        }
    }

    func damaged(_ id: RecordedMessage.ID?, _ damage: String) {
        state.withLock { $0.change(id) { $0.damage = damage } }
    }

    func ended(_ id: RecordedMessage.ID?, _ fate: RecordedMessage.Fate, at time: Duration) {
        state.withLock { state in
            let moment = state.moment(at: time)
            state.change(id) { message in
                message.fate = fate
                message.ended = moment
            }
        }
    }

    /// Changes the fate of a message that has already arrived.
    func changeFate(_ id: RecordedMessage.ID?, _ fate: RecordedMessage.Fate) {
        state.withLock { $0.change(id) { $0.fate = fate } }
    }

    /// Records that the server starts to handle a request. The server's events belong to the request until `answered`
    /// is called.
    func takenInHand(_ id: RecordedMessage.ID?) {
        state.withLock { state in
            state.inHand = id
            state.response = nil
        }
    }

    /// Ends the handling of the current request and returns the server's last note about it.
    func answered() -> (label: String, detail: String)? {
        state.withLock { state in
            state.inHand = nil
            return state.response
        }
    }

    static func bounded(_ text: String) -> String {
        guard text.utf8.count > SimulationLimits.recordedTextBytes else { return text }
        var kept = ""
        var bytes = 0
        for character in text {
            bytes += character.utf8.count
            guard bytes <= SimulationLimits.recordedTextBytes else { break }
            kept.append(character)
        }
        return kept + " …"
    }
}

extension WorldRecording.State {
    mutating func moment(at time: Duration) -> RecordedMoment {
        moments += 1
        return RecordedMoment(number: moments, time: time)
    }

    /// Changes a message. Has no effect on a message that is no longer kept.
    fileprivate mutating func change(_ id: RecordedMessage.ID?, _ body: (inout RecordedMessage) -> Void) {
        guard let id, var message = traffic[id] else { return }
        body(&message)
        traffic[id] = message
    }

    mutating func event(_ text: String, by party: String, at time: Duration, as kind: EventKind, detail: String) {
        guard !isClosed else { return }
        let message = party == "server" ? inHand : nil
        if message != nil { response = (text, detail) }
        let kind = settled(kind, of: party)
        events.append(
            RecordedEvent(
                moment: moment(at: time), party: party, kind: kind, text: WorldRecording.bounded(text),
                detail: WorldRecording.bounded(detail), message: message))
    }
}

extension WorldRecording.State {
    /// Returns the kind of an event, or `note` for a resumption or connection that ended nothing.
    ///
    /// A recovering party is resumed and connected even if it was neither suspended nor cut off.
    private mutating func settled(_ kind: EventKind, of party: String) -> EventKind {
        switch kind {
        case .suspended: asleep.insert(party)
        case .resumed: if asleep.remove(party) == nil { return .note }
        case .cut: cutOff.insert(party)
        case .connected: if cutOff.remove(party) == nil { return .note }
        case .note, .commit, .serverCommit, .conflict, .rejection, .page, .up, .down, .fault, .phase, .violation: break
        }
        return kind
    }
}

/// The last entries of a log. Indices count from the first entry that was ever added.
struct BoundedLog<Entry: Sendable>: Sendable {
    private(set) var entries: [Entry] = []
    private(set) var forgotten = 0
    private let limit: Int

    init(limit: Int) {
        self.limit = limit
    }

    var last: Entry? { entries.last }

    mutating func replaceLast(with entry: Entry) {
        guard !entries.isEmpty else { return }
        entries[entries.count - 1] = entry
    }

    mutating func append(_ entry: Entry) {
        if entries.count == limit {
            // Many entries are removed at once, so that the cost per entry does not depend on the length of the log.
            let count = max(limit / 4, 1)
            entries.removeFirst(count)
            forgotten += count
        }
        entries.append(entry)
    }

    subscript(place: Int) -> Entry? {
        get { entries.indices.contains(place - forgotten) ? entries[place - forgotten] : nil }
        set {
            guard let newValue, entries.indices.contains(place - forgotten) else { return }
            entries[place - forgotten] = newValue
        }
    }
}

extension String {
    /// Returns the byte offset of `part`; nil when it does not occur.
    fileprivate func offset(of part: String) -> Int? {
        let (text, part) = (Array(utf8), Array(part.utf8))
        guard !part.isEmpty, text.count >= part.count else { return nil }
        return (0...(text.count - part.count)).first { text[$0..<($0 + part.count)].elementsEqual(part) }
    }
}
