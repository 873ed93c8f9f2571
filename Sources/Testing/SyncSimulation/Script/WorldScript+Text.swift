import SyncAuthority
import SyncCore

/// The text form of a script: one setting or event per line, so that a saved script can be read, edited, and compared.
///
/// ```
/// tombolo-world 1
/// seed 42
/// devices 2
/// network.loseResponse 0.25
/// device0 acts 1234
/// device1 disk write+sync database+wal skip 12 times 1 rate 1.0 power
/// wait 350000
/// ```
///
/// Times are in microseconds. An omitted setting has its fault-free default. `wait` ends a moment. Empty lines and text
/// after a `#` are ignored.
extension WorldScript {
    private static let header = "tombolo-world 1"

    /// A line that cannot be parsed.
    public struct Unreadable: Error, Hashable, Sendable, CustomStringConvertible {
        /// The line number, starting at 1.
        public let line: Int
        public let message: String

        public var description: String { "line \(line): \(message)" }
    }

    public var text: String {
        var lines = [Self.header]
        lines += setting.lines
        lines += planned.map { planned in
            "planned \(planned.party) \(planned.fault.words)" + (planned.seed == 0 ? "" : " seed \(planned.seed)")
        }
        for moment in moments {
            lines += moment.happenings.map(\.words)
            lines.append("wait \(moment.pause.wholeMicroseconds)")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Parses a script.
    ///
    /// - Throws: `Unreadable`, with the line number and the expected contents.
    public init(text: String) throws(Unreadable) {
        self.init(setting: WorldSetting(seed: 0, devices: 1))
        var happenings: [WorldEvent] = []
        var isFirst = true
        var number = 0
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            number += 1
            let said = line.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)[0]
            var words = ScriptWords(said)
            if words.isEmpty { continue }
            do throws(ScriptWords.Unexpected) {
                if isFirst {
                    guard words.joined == Self.header else { throw words.unexpected("\"\(Self.header)\"") }
                    isFirst = false
                    continue
                }
                switch words.first {
                case "wait":
                    words.skip()
                    moments.append(
                        Moment(happenings, pause: .microseconds(try words.number(0...ScriptWords.longestTime))))
                    happenings = []
                case "planned":
                    words.skip()
                    let party = try words.party()
                    var fault = PlannedFault(party, try DiskFault(&words))
                    if words.first == "seed" {
                        words.skip()
                        fault.seed = try words.seed()
                    }
                    planned.append(fault)
                case let word? where word == "server" || word.hasPrefix("device") && word != "devices":
                    happenings.append(try WorldEvent(&words))
                default: try setting.read(&words)
                }
                try words.end()
            } catch {
                throw Unreadable(line: number, message: error.message)
            }
        }
        if isFirst { throw Unreadable(line: max(number, 1), message: "the text is empty; expected \"\(Self.header)\"") }
        if !happenings.isEmpty { moments.append(Moment(happenings, pause: .zero)) }
    }
}

// MARK: Settings

extension WorldSetting {
    /// The settings, one per line.
    public var lines: [String] {
        var lines = ["seed \(seed)", "devices \(devices)", "scheduling \(scheduling.rawValue)"]
        lines.append("slowProcessor \(slowProcessor)")
        lines.append("hints \(policy.listensForHints ? "on" : "off")")
        lines.append("batch.transactions \(policy.batch.transactions)")
        lines.append("batch.bytes \(policy.batch.bytes)")
        lines.append("page.rows \(policy.pageRows)")
        lines.append("page.smallest \(policy.smallestPage)")
        if !unflushed.isEmpty { lines.append("unflushed \(unflushed.places)") }
        if !readers.isEmpty { lines.append("readers \(readers.places)") }
        if !pausing.isEmpty { lines.append("pausing \(pausing.places)") }
        if !earlierDevices.isEmpty { lines.append("earlierDevices \(earlierDevices.places)") }
        if isServerEarlier { lines.append("server.build earlier") }
        if hasForms { lines.append("forms on") }
        if hasRule { lines.append("rule on") }
        if hasSmallJournals { lines.append("journals small") }
        if accounts != .unlimited { lines.append("quota \(accounts.bytes) \(accounts.clients)") }
        if hasCorrections { lines.append("corrections on") }
        if restoresAny { lines.append("restores any") }
        if let limits { lines.append(limits.line) }
        if spaceCount != 1 { lines.append("spaces \(spaceCount)") }
        lines.append("brake \(policy.deleteBrake.map { "\($0.records) \($0.percent)" } ?? "off")")
        lines += NetworkConditions.spans.map { name, path in
            let span = network[keyPath: path]
            return "network.\(name) \(span.lowerBound.wholeMicroseconds) \(span.upperBound.wholeMicroseconds)"
        }
        return lines + NetworkConditions.rates.map { "network.\($0) \(network[keyPath: $1])" }
    }

    fileprivate mutating func read(_ words: inout ScriptWords) throws(ScriptWords.Unexpected) {
        guard let name = words.first else { return }
        words.skip()
        switch name {
        case "seed": seed = try words.seed()
        case "devices": devices = Int(try words.number(1...64))
        case "scheduling":
            scheduling = try words.oneOf(
                Dictionary(uniqueKeysWithValues: SchedulingPolicy.allCases.map { ($0.rawValue, $0) }))
        case "slowProcessor": slowProcessor = try words.fraction()
        case "hints": policy.listensForHints = try words.oneOf(["on": true, "off": false])
        case "batch.transactions": policy.batch.transactions = Int(try words.number(1...1_000_000))
        case "batch.bytes": policy.batch.bytes = Int(try words.number(1...1_000_000_000))
        case "page.rows": policy.pageRows = Int(try words.number(1...1_000_000))
        case "page.smallest": policy.smallestPage = Int(try words.number(1...1_000_000))
        case "unflushed": unflushed = try words.places()
        case "readers": readers = try words.places()
        case "pausing": pausing = try words.places()
        case "earlierDevices": earlierDevices = try words.places()
        case "server.build": isServerEarlier = try words.oneOf(["earlier": true, "current": false])
        case "journals": hasSmallJournals = try words.oneOf(["small": true, "large": false])
        case "corrections": hasCorrections = try words.oneOf(["on": true, "off": false])
        case "restores": restoresAny = try words.oneOf(["any": true, "newest": false])
        case "quota":
            accounts.bytes = Int(try words.number(0...Int64.max))
            accounts.clients = Int(try words.number(1...Int64.max))
        case "limits": limits = try TightLimits(&words)
        case "forms": hasForms = try words.oneOf(["on": true, "off": false])
        case "rule": hasRule = try words.oneOf(["on": true, "off": false])
        case "spaces": spaceCount = Int(try words.number(1...Int64(Self.allSpaces.count)))
        case "brake":
            policy.deleteBrake = nil
            if words.first == "off" { return words.skip() }
            let records = Int(try words.number(0...1_000_000))
            policy.deleteBrake = DeleteBrake(records: records, percent: Int(try words.number(0...100)))
        default:
            let key = name.hasPrefix("network.") ? String(name.dropFirst("network.".count)) : ""
            if let (_, path) = NetworkConditions.spans.first(where: { $0.0 == key }) {
                let shortest = try words.number(0...ScriptWords.longestTime)
                network[keyPath: path] =
                    .microseconds(shortest)...(.microseconds(try words.number(shortest...ScriptWords.longestTime)))
            } else if let (_, path) = NetworkConditions.rates.first(where: { $0.0 == key }) {
                network[keyPath: path] = try words.fraction()
            } else {
                throw ScriptWords.Unexpected(
                    message: "\"\(name)\" is not a setting; expected a setting, \"device0\" or \"server\", or \"wait\"")
            }
        }
    }
}

extension TightLimits {
    fileprivate var line: String {
        let values = [pushBytes, pushTransactions, pageRows, pageBytes, transactionsPerWrite, bodyBytes, textBytes]
        return "limits \(values.map { "\($0)" }.joined(separator: " "))"
    }

    fileprivate init(_ words: inout ScriptWords) throws(ScriptWords.Unexpected) {
        func number() throws(ScriptWords.Unexpected) -> Int { Int(try words.number(1...1_000_000_000)) }
        self.init(
            pushBytes: try number(), pushTransactions: try number(), pageRows: try number(), pageBytes: try number(),
            transactionsPerWrite: try number(), bodyBytes: try number(), textBytes: try number())
    }
}

extension Set<Int> {
    fileprivate var places: String { sorted().map { "\($0)" }.joined(separator: " ") }
}

extension ScriptWords {
    /// Reads the indices of one or more devices.
    fileprivate mutating func places() throws(Unexpected) -> Set<Int> {
        var places: Set<Int> = []
        repeat { places.insert(Int(try number(0...63))) } while !isEmpty
        return places
    }
}

extension NetworkConditions {
    // These are computed properties because key paths are not `Sendable`.
    fileprivate static var spans: [(String, WritableKeyPath<NetworkConditions, ClosedRange<Duration>>)] {
        [("delay", \.delay), ("lateness", \.lateness)]
    }

    static var rates: [(String, WritableKeyPath<NetworkConditions, Double>)] {
        [
            ("late", \.lateRate), ("refuse", \.refuseRate), ("loseRequest", \.loseRequestRate),
            ("loseResponse", \.loseResponseRate), ("breakResponse", \.breakResponseRate), ("double", \.duplicateRate),
            ("damageRequest", \.damageRequestRate), ("damageResponse", \.damageResponseRate), ("busy", \.busyRate),
            ("loseHint", \.loseHintRate), ("endHints", \.endHintsRate),
        ]
    }
}

// MARK: Events

extension WorldEvent {
    var words: String {
        switch self {
        case .operation(let place, let seed): "device\(place) acts \(seed)"
        case .device(let place, let fault): "device\(place) \(fault.words)"
        case .server(let fault): "server \(fault.words)"
        case .disk(let party, let fault): "\(party) disk \(fault.words)"
        }
    }

    fileprivate init(_ words: inout ScriptWords) throws(ScriptWords.Unexpected) {
        let party = try words.party()
        if words.first == "disk" {
            words.skip()
            self = .disk(party, try DiskFault(&words))
            return
        }
        switch party {
        case .server: self = .server(try ServerFault(&words))
        case .device(let place):
            if words.first == "acts" {
                words.skip()
                self = .operation(device: place, seed: try words.seed())
            } else {
                self = .device(place, try DeviceFault(&words))
            }
        }
    }
}

/// The faults that a device and the server have in common.
private protocol MachineFault {
    static var recovers: Self { get }
    static var killed: Self { get }
    static func losesPower(seed: UInt64) -> Self
    static func diskFilled(leaving: Int) -> Self
    static var diskReadOnly: Self { get }
}

extension DeviceFault: MachineFault {}
extension ServerFault: MachineFault {}

extension MachineFault {
    /// Reads one of these faults. Returns nil and reads nothing when the next word is different.
    fileprivate static func ofAnyMachine(_ words: inout ScriptWords) throws(ScriptWords.Unexpected) -> Self? {
        guard let word = words.first,
            ["recovers", "killed", "losesPower", "diskFilled", "diskReadOnly"].contains(word)
        else { return nil }
        words.skip()
        return switch word {
        case "recovers": recovers
        case "killed": killed
        case "losesPower": losesPower(seed: try words.seed())
        case "diskReadOnly": diskReadOnly
        default: diskFilled(leaving: Int(try words.number(0...1_000_000_000)))
        }
    }
}

extension DeviceFault {
    fileprivate var words: String {
        switch self {
        case .recovers: "recovers"
        case .killed: "killed"
        case .losesPower(let seed): "losesPower \(seed)"
        case .stops: "stops"
        case .suspended: "suspended"
        case .cutOff(let direction): "cutOff \(direction.rawValue)"
        case .losesLink: "losesLink"
        case .clock(let error): "clockWrongBy \(error.wholeMicroseconds)"
        case .imageKept: "imageKept"
        case .rolledBack: "rolledBack"
        case .clockDrifts(let parts): "clockDrifts \(parts)"
        case .meets(let response, let times): "meets \(response.rawValue) \(times)"
        case .receivesFalseResponses(let lie, let times): "receivesFalseResponses \(lie.rawValue) \(times)"
        case .cloned(let place): "clonedFrom \(place)"
        case .rivalStarts: "rivalStarts"
        case .diskFilled(let bytes): "diskFilled \(bytes)"
        case .diskReadOnly: "diskReadOnly"
        case .deletesAllowed: "deletesAllowed"
        case .upgraded: "upgraded"
        case .userChanges(let isAnnounced): "userChanges \(isAnnounced ? "announced" : "silently")"
        }
    }

    fileprivate init(_ words: inout ScriptWords) throws(ScriptWords.Unexpected) {
        if let fault = try Self.ofAnyMachine(&words) {
            self = fault
            return
        }
        let word = words.first
        words.skip()
        switch word {
        case "stops": self = .stops
        case "suspended": self = .suspended
        case "cutOff":
            self = .cutOff(
                try words.oneOf(
                    Dictionary(uniqueKeysWithValues: SimulatedNetwork.Direction.allCases.map { ($0.rawValue, $0) })))
        case "losesLink": self = .losesLink
        case "clockWrongBy":
            self = .clock(
                wrongBy: .microseconds(try words.number(-ScriptWords.longestTime...ScriptWords.longestTime)))
        case "imageKept": self = .imageKept
        case "rolledBack": self = .rolledBack
        case "clockDrifts": self = .clockDrifts(Int(try words.number(-1_000_000...1_000_000)))
        case "meets":
            let response = try words.oneOf(
                Dictionary(uniqueKeysWithValues: ScriptedResponse.allCases.map { ($0.rawValue, $0) }))
            self = .meets(response, times: Int(try words.number(1...1_000_000)))
        case "receivesFalseResponses":
            let lie = try words.oneOf(Dictionary(uniqueKeysWithValues: Lie.allCases.map { ($0.rawValue, $0) }))
            self = .receivesFalseResponses(lie, times: Int(try words.number(1...1_000_000)))
        case "clonedFrom": self = .cloned(from: Int(try words.number(0...63)))
        case "rivalStarts": self = .rivalStarts
        case "deletesAllowed": self = .deletesAllowed
        case "upgraded": self = .upgraded
        case "userChanges": self = .userChanges(isAnnounced: try words.oneOf(["announced": true, "silently": false]))
        default: throw ScriptWords.Unexpected(word, expected: "an event of a device, such as \"killed\"")
        }
    }
}

extension ServerFault {
    fileprivate var words: String {
        switch self {
        case .recovers: "recovers"
        case .killed: "killed"
        case .losesPower(let seed): "losesPower \(seed)"
        case .compacted(let kept): "compacted \(kept)"
        case .conflictsTrimmed(let kept): "conflictsTrimmed \(kept)"
        case .backedUp: "backedUp"
        case .restored: "restored"
        case .restoredSilently: "restoredSilently"
        case .forged(let seed): "forged \(seed)"
        case .emptied: "emptied"
        case .diskFilled(let bytes): "diskFilled \(bytes)"
        case .diskReadOnly: "diskReadOnly"
        case .secondStarts: "secondStarts"
        case .upgraded: "upgraded"
        case .slowed(let delay): "slowedBy \(delay.wholeMicroseconds)"
        case .clock(let error): "clockWrongBy \(error.wholeMicroseconds)"
        case .quotaChanged(let bytes): "quotaChanged \(bytes)"
        case .accessChanged(let place, let space): "accessChanged \(place) \(space)"
        }
    }

    fileprivate init(_ words: inout ScriptWords) throws(ScriptWords.Unexpected) {
        if let fault = try Self.ofAnyMachine(&words) {
            self = fault
            return
        }
        let word = words.first
        words.skip()
        switch word {
        case "accessChanged":
            let place = Int(try words.number(0...63))
            self = .accessChanged(
                device: place, space: Int(try words.number(0...Int64(WorldSetting.allSpaces.count - 1))))
        case "quotaChanged": self = .quotaChanged(bytes: Int(try words.number(0...1_000_000_000)))
        case "secondStarts": self = .secondStarts
        case "upgraded": self = .upgraded
        case "slowedBy": self = .slowed(by: .microseconds(try words.number(0...ScriptWords.longestTime)))
        case "clockWrongBy":
            self = .clock(
                wrongBy: .microseconds(try words.number(-ScriptWords.longestTime...ScriptWords.longestTime)))
        case "compacted": self = .compacted(keeping: Int(try words.number(0...1_000_000_000)))
        case "conflictsTrimmed": self = .conflictsTrimmed(keeping: Int(try words.number(0...1_000_000_000)))
        case "backedUp": self = .backedUp
        case "restored": self = .restored
        case "restoredSilently": self = .restoredSilently
        case "forged": self = .forged(seed: try words.seed())
        case "emptied": self = .emptied
        default: throw ScriptWords.Unexpected(word, expected: "an event of the server, such as \"killed\"")
        }
    }
}

// MARK: Disk faults

extension DiskFault {
    fileprivate var words: String {
        let times = times.map { "\($0)" } ?? "all"
        return "\(operations.words) \(files.words) skip \(skip) times \(times) rate \(rate) \(effect.word)"
    }

    fileprivate init(_ words: inout ScriptWords) throws(ScriptWords.Unexpected) {
        let operations = try DiskOperations(&words)
        let files = try DiskFiles(&words)
        try words.expect("skip")
        let skip = Int(try words.number(0...1_000_000_000))
        try words.expect("times")
        var times: Int?
        if words.first == "all" { words.skip() } else { times = Int(try words.number(1...1_000_000_000)) }
        try words.expect("rate")
        let rate = try words.fraction()
        self.init(operations, of: files, skip: skip, times: times, rate: rate, effect: try words.oneOf(Effect.words))
    }
}

extension DiskFault.Effect {
    fileprivate static let words: [String: DiskFault.Effect] = [
        "error": .fail(.inputOutput), "full": .fail(.full), "busy": .fail(.busy), "cannotOpen": .fail(.cannotOpen),
        "kill": .kill, "power": .losePower,
    ]

    fileprivate var word: String { Self.words.first { $0.value == self }?.key ?? "" }
}

extension DiskOperations {
    /// The names of the operations, joined by "+".
    var words: String {
        let names = Self.names.enumerated().filter { contains(DiskOperations(rawValue: 1 << UInt32($0.offset))) }
        return names.map(\.element).joined(separator: "+")
    }

    fileprivate init(_ words: inout ScriptWords) throws(ScriptWords.Unexpected) {
        self = []
        for name in try words.names(among: Self.names) { insert(DiskOperations(rawValue: 1 << UInt32(name))) }
    }
}

extension DiskFiles {
    private static let names = ["database", "journal", "wal", "other"]

    fileprivate var words: String {
        let names = Self.names.enumerated().filter { contains(DiskFiles(rawValue: 1 << UInt32($0.offset))) }
        return names.map(\.element).joined(separator: "+")
    }

    fileprivate init(_ words: inout ScriptWords) throws(ScriptWords.Unexpected) {
        self = []
        for name in try words.names(among: Self.names) { insert(DiskFiles(rawValue: 1 << UInt32(name))) }
    }
}
