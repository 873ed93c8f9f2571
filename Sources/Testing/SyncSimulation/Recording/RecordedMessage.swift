/// One copy of one message: a request, its answer, or a hint.
public struct RecordedMessage: Hashable, Sendable, Identifiable {
    public typealias ID = Int

    public let id: ID
    public let kind: Kind
    /// Requests and answers of one call have the same number.
    public let call: Int
    /// Of a request that the network has doubled, the second copy is 1.
    public let copy: Int
    public let sender: String
    public let receiver: String
    public internal(set) var label: String
    /// The contents in words; empty when the label says it all.
    public internal(set) var detail: String
    public let sent: RecordedMoment
    /// When it arrived, or was lost; nil while it is on its way.
    public internal(set) var ended: RecordedMoment?
    public internal(set) var fate = Fate.onItsWay
    /// Whether it takes much longer than others.
    public internal(set) var isLate = false
    /// The damage to its bytes; nil when there is none.
    public internal(set) var damage: String?

    public enum Kind: String, Hashable, Sendable, CaseIterable {
        case request, answer, hint
    }

    public enum Fate: String, Hashable, Sendable, CaseIterable {
        /// Not there yet when the recording ended.
        case onItsWay
        case arrived
        case lost
        /// The connection was refused; the server heard nothing.
        case refused
        /// A proxy answered that the server is busy.
        case busy
        /// Something on the way answered in the server's place, as the script says.
        case intercepted
        /// The connection broke before the answer was complete.
        case broken
        /// It arrived, and nobody waited for it any more.
        case unheard
        /// There was no server, or it died over it.
        case nobodyThere
    }
}
