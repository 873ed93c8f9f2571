/// Where an actor runs: on the executor that its runtime names, or as any other actor. Kept as long as the actor lives.
package struct ActorExecutor: Sendable {
    private let executor: (any SerialExecutor)?
    /// Stands in for the executor of an ordinary actor when none is named.
    private let anchor = Anchor()

    package init(_ runtime: EngineRuntime) {
        executor = runtime.actorExecutor
    }

    package var unownedExecutor: UnownedSerialExecutor {
        executor?.asUnownedSerialExecutor() ?? anchor.unownedExecutor
    }

    private actor Anchor {}
}
