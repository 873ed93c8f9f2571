/// All data that the checker uses, observed from outside.
struct Evidence {
    /// The path of the server's database.
    let server: String
    /// The names of the devices, and the paths of their databases.
    let devices: [(name: String, database: String)]
    let writes: [Write]
    /// The records that replicas showed during the run.
    var samples: [Sample] = []
    /// The output of `syncctl digest`, by the name of the replica.
    var digests: [String: String] = [:]
    /// The traffic through each device's proxy while it was idle.
    var quiet: [QuietTime] = []
    /// The last output of each device that did not come to rest.
    var complaints: [String: String] = [:]
}

/// The records of one replica at one moment.
struct Sample: Sendable {
    let name: String
    /// The version that the replica had reached. Nil for the server.
    let version: Int64?
    /// Whether the replica has finished its first snapshot. Before that it shows single pages, so it can show a part of
    /// a transaction.
    var isComplete = true
    /// The ids and names of the users that the replica showed.
    let users: [(id: String, name: String)]
}

/// The requests of a device while it was idle.
struct QuietTime: Sendable {
    let device: String
    let requests: Int
    let allowed: Int
}

/// A violation of an invariant.
struct Violation: Hashable, Sendable, CustomStringConvertible {
    /// The number of the invariant, as `Invariant` lists it, such as `I1`.
    let invariant: String
    let words: String

    var description: String { "\(invariant): \(words)" }
}
