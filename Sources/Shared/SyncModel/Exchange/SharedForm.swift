import Synchronization

/// The encoded form of contents that many responses share.
///
/// The first response that needs the form makes it, and the others reuse it. A form follows from the contents, so it
/// takes no part in comparisons. It can be used from any thread.
package final class SharedForm: Sendable, Hashable {
    private final class Form: Sendable {
        let bytes: [UInt8]

        init(_ bytes: [UInt8]) {
            self.bytes = bytes
        }
    }

    private let form = AtomicLazyReference<Form>()

    package init() {}

    /// Returns the form. If two threads make it at the same time, both return the same one.
    ///
    /// - Parameter make: encodes the contents. An error keeps nothing.
    package func bytes<Failure: Error>(_ make: () throws(Failure) -> [UInt8]) throws(Failure) -> [UInt8] {
        if let made = form.load() { return made.bytes }
        return form.storeIfNil(Form(try make())).bytes
    }

    package static func == (_: SharedForm, _: SharedForm) -> Bool { true }

    package func hash(into _: inout Hasher) {}
}
