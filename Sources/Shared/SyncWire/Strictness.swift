/// The treatment of unknown keys, which depends on the sender of the message.
package enum Strictness: Hashable, Sendable {
    /// For requests: an unknown key is rejected.
    case refusingUnknownKeys
    /// For responses: an unknown key is ignored, because a newer server may send more than this build understands.
    case ignoringUnknownKeys
}
