import Glibc

/// The identity of a thread, which tells whether code runs inside of a synchronous call.
package struct ThreadIdentity: Hashable, Sendable {
    private let thread: pthread_t

    /// The thread on which the caller runs.
    package static var current: ThreadIdentity { ThreadIdentity(thread: pthread_self()) }
}
