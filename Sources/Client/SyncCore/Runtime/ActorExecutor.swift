/// The executor of an actor: the one that the runtime names, or an ordinary actor's executor. Must live as long as the
/// actor.
package struct ActorExecutor: Sendable {
    private let executor: (any SerialExecutor)?
    /// Provides the executor of an ordinary actor when the runtime names none.
    private let anchor = Anchor()

    package init(_ runtime: EngineRuntime) {
        executor = runtime.actorExecutor
    }

    package var unownedExecutor: UnownedSerialExecutor {
        executor?.asUnownedSerialExecutor() ?? anchor.unownedExecutor
    }

    private actor Anchor {}
}
