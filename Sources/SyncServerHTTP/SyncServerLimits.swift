/// The limits of the HTTP server that nobody needs to configure.
enum SyncServerLimits {
    /// The longest header field and the longest list of them, in bytes.
    static let headerBytes = 16 * 1_024
    static let headerFields = 64
    /// The spaces of one event stream.
    static let spacesPerStream = 64
    /// How long a connection may go on sending a body that was refused, before it is cut.
    static let lingering = Duration.seconds(5)
    /// What a body may be slow by, in bytes a second: time that it takes beyond its timeout. Half of what a client of ours gives
    /// itself for a long push (`SyncPolicy.uploadTime(ofBytes:)`), which is to be the first to give up.
    static let slowestBody = 4 * 1_024
    /// How many times the longest body is read, and forgotten, before the connection is given up.
    static let patienceWithBodies = 4
    /// Connections that wait to be accepted: a fleet that comes back at once.
    static let backlog = 4_096
    /// The longest token, in bytes, and the longest file of tokens.
    static let tokenBytes = 4 * 1_024
    static let tokenFileBytes = 4 * 1_024 * 1_024
}
