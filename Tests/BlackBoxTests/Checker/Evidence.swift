/// Everything that the checker looks at, all of it seen from outside.
struct Evidence {
    /// The database of the server, and those of the devices by name.
    let server: String
    let devices: [(name: String, database: String)]
    let writes: [Write]
    /// The records that replicas showed at moments in between.
    var samples: [Sample] = []
    /// The answers of `syncctl digest`, by whose they are.
    var digests: [String: String] = [:]
    /// The traffic through each device's proxy while nobody did anything.
    var quiet: [QuietTime] = []
    /// The last words of a device that did not come to rest.
    var complaints: [String: String] = [:]
}

/// One replica at one moment.
struct Sample: Sendable {
    let name: String
    /// How far the replica had come; nil for the server.
    let version: Int64?
    /// Whether it has its first copy. Before that, it shows the pages that have come: a transaction may be in two.
    var isComplete = true
    /// The ids and names of the users that it showed.
    let users: [(id: String, name: String)]
}

/// The requests of a device while nobody did anything.
struct QuietTime: Sendable {
    let device: String
    let requests: Int
    let allowed: Int
}

/// A broken promise.
struct Finding: Hashable, Sendable, CustomStringConvertible {
    /// As `Invariant` numbers them: `I1`.
    let invariant: String
    let words: String

    var description: String { "\(invariant): \(words)" }
}
