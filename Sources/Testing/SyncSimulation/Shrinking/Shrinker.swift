/// A tool that shrinks a failing script: fewer devices, operations, and faults, and a better network, as long as the
/// script fails in the same way.
///
/// It first removes the faults of the network, whole kinds of events, and devices. It then applies delta debugging
/// (Zeller and Hildebrandt, 2002) to the moments and the events.
public struct Shrinker {
    /// The kind of a failure. A smaller script must fail in the same way.
    public struct Failure: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        public init(_ failure: WorldError) {
            switch failure.cause {
            case let violation as Violation: description = violation.invariant.rawValue
            case let failure as SimulationError: description = failure.kind.word
            default: description = "\(type(of: failure.cause))"
            }
        }
    }

    /// Runs a script and returns its failure; nil when it succeeds.
    private let run: (WorldScript) -> Failure?
    /// The number of runs left.
    private var budget: Int
    /// The number of runs so far.
    public private(set) var runs = 0
    /// Called with each smaller script.
    private let progress: (WorldScript) -> Void

    /// - Parameters:
    ///   - budget: the maximum number of runs, after which the smallest script so far is returned.
    ///   - progress: called with each smaller script.
    ///   - run: returns a script's failure, or nil when it succeeds. It must be deterministic.
    public init(
        budget: Int = 2_000, progress: @escaping (WorldScript) -> Void = { _ in },
        run: @escaping (WorldScript) -> Failure?
    ) {
        self.budget = budget
        self.progress = progress
        self.run = run
    }

    /// Returns the smallest script found that fails as `script` does; nil when `script` does not fail.
    public mutating func shrink(_ script: WorldScript) -> WorldScript? {
        guard let failure = attempt(script) else { return nil }
        var smallest = script
        var size = Int.max
        while smallest.size < size, budget > 0 {
            size = smallest.size
            calmNetwork(&smallest, failure)
            dropKinds(&smallest, failure)
            dropDevices(&smallest, failure)
            dropMoments(&smallest, failure)
            dropEvents(&smallest, failure)
            joinMoments(&smallest, failure)
        }
        return smallest
    }

    // MARK: Reductions

    private mutating func calmNetwork(_ script: inout WorldScript, _ failure: Failure) {
        simplify(&script, failure) { $0.setting.network = .calm }
        for (_, path) in NetworkConditions.rates where script.setting.network[keyPath: path] > 0 {
            simplify(&script, failure) { $0.setting.network[keyPath: path] = 0 }
        }
        for place in script.setting.unflushed.sorted() {
            simplify(&script, failure) { $0.setting.unflushed.remove(place) }
        }
        for place in script.setting.readers.sorted() {
            simplify(&script, failure) { $0.setting.readers.remove(place) }
        }
        for place in script.setting.pausing.sorted() {
            simplify(&script, failure) { $0.setting.pausing.remove(place) }
        }
        for count in 1..<max(script.setting.spaceCount, 1) where count < script.setting.spaceCount {
            simplify(&script, failure) { $0.setting.spaceCount = count }
        }
        if script.setting.slowProcessor > 0 { simplify(&script, failure) { $0.setting.slowProcessor = 0 } }
        if script.setting.scheduling != .fifo { simplify(&script, failure) { $0.setting.scheduling = .fifo } }
    }

    /// Removes all events of one kind at once: most kinds are unrelated to the failure.
    private mutating func dropKinds(_ script: inout WorldScript, _ failure: Failure) {
        for kind in Set(script.moments.flatMap(\.happenings).compactMap(\.kind)).sorted() {
            simplify(&script, failure) { $0.removeEvents { $0.kind == kind } }
        }
    }

    private mutating func dropDevices(_ script: inout WorldScript, _ failure: Failure) {
        for place in (0..<script.setting.devices).reversed() {
            simplify(&script, failure) { $0.removeEvents { $0.place == place } }
        }
        // Devices at the end without events can be removed altogether.
        let used = script.moments.flatMap(\.happenings).compactMap(\.place).max() ?? 0
        if used + 1 < script.setting.devices { simplify(&script, failure) { $0.setting.devices = used + 1 } }
    }

    private mutating func dropMoments(_ script: inout WorldScript, _ failure: Failure) {
        // Large parts are removed first, because that is faster. Each pass starts at the end, because nothing after the
        // failure can cause it.
        var length = script.moments.count / 2
        while length > 0, budget > 0 {
            var start = script.moments.count - length
            while start >= 0, budget > 0 {
                let range = start..<min(start + length, script.moments.count)
                simplify(&script, failure) { $0.moments.removeSubrange(range) }
                start -= length
            }
            length /= 2
        }
    }

    private mutating func dropEvents(_ script: inout WorldScript, _ failure: Failure) {
        for place in script.planned.indices.reversed() { simplify(&script, failure) { $0.planned.remove(at: place) } }
        for moment in script.moments.indices.reversed() {
            for place in script.moments[moment].happenings.indices.reversed() {
                simplify(&script, failure) { $0.moments[moment].happenings.remove(at: place) }
            }
        }
    }

    /// Replaces moments without events by a longer pause of the moment before.
    private mutating func joinMoments(_ script: inout WorldScript, _ failure: Failure) {
        for place in script.moments.indices.dropFirst().reversed() where script.moments[place].happenings.isEmpty {
            simplify(&script, failure) { script in
                script.moments[place - 1].pause += script.moments[place].pause
                script.moments.remove(at: place)
            }
        }
    }

    // MARK: Attempts

    private mutating func simplify(
        _ script: inout WorldScript, _ failure: Failure, _ change: (inout WorldScript) -> Void
    ) {
        var smaller = script
        change(&smaller)
        guard budget > 0, smaller != script, attempt(smaller) == failure else { return }
        script = smaller
        progress(script)
    }

    private mutating func attempt(_ script: WorldScript) -> Failure? {
        budget -= 1
        runs += 1
        return run(script)
    }
}

extension WorldScript {
    fileprivate mutating func removeEvents(where isGone: (WorldEvent) -> Bool) {
        for place in moments.indices { moments[place].happenings.removeAll(where: isGone) }
    }
}

extension WorldEvent {
    /// The kind of the fault; nil for operations of users.
    fileprivate var kind: String? {
        switch self {
        case .operation: nil
        case .device, .server: words.split(separator: " ").prefix(2).last.map(String.init)
        case .disk(let party, _): party == .server ? "disk of the server" : "disk of a device"
        }
    }
}

extension SimulationError.Kind {
    fileprivate var word: String {
        switch self {
        case .deadlock: "deadlock"
        case .livelock: "livelock"
        case .leak: "leak"
        case .tooLong: "too long"
        case .unfinished: "unfinished"
        case .sleepersLeft: "sleepers left"
        }
    }
}
