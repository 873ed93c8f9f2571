/// One copy of a message: a request, a response, or a hint.
public struct RecordedMessage: Hashable, Sendable, Identifiable {
    public typealias ID = Int

    public let id: ID
    public let kind: Kind
    /// The number of the call, which its requests and responses share.
    public let call: Int
    /// The number of the copy: 1 for the second copy of a duplicated request and its response, otherwise 0.
    public let copy: Int
    public let sender: String
    public let receiver: String
    public internal(set) var label: String
    /// A description of the contents; empty when the label is sufficient.
    public internal(set) var detail: String
    public let sent: RecordedMoment
    /// The moment when the message arrived or was lost; nil while it is in transit.
    public internal(set) var ended: RecordedMoment?
    public internal(set) var fate = Fate.onItsWay
    /// Whether the message takes much longer than others.
    public internal(set) var isLate = false
    /// A description of the damage to its bytes; nil when there is none.
    public internal(set) var damage: String?

    public enum Kind: String, Hashable, Sendable, CaseIterable {
        case request, response, hint
    }

    public enum Fate: String, Hashable, Sendable, CaseIterable {
        /// The message was still in transit when the recording ended.
        case onItsWay
        case arrived
        case lost
        /// The connection was refused. The server received nothing.
        case refused
        /// A proxy responded that the server is busy.
        case busy
        /// A response or an error from the script was returned instead of the server's response.
        case intercepted
        /// The connection broke before the response was complete.
        case broken
        /// The message arrived, but nothing was waiting for it anymore.
        case undelivered
        /// No server was running, or the server died while handling the message.
        case unreachable
    }
}
