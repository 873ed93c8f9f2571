/// The executor of one actor in a simulation. Its jobs are in the same queue as all others, so that other jobs may run
/// between a call to the actor and its execution.
public final class SimulationSerialExecutor: SerialExecutor {
    private let scheduler: SimulationScheduler
    /// The executor of the tasks that call the actor.
    let tasks: SimulationTaskExecutor

    init(scheduler: SimulationScheduler, tasks: SimulationTaskExecutor) {
        self.scheduler = scheduler
        self.tasks = tasks
    }

    public func enqueue(_ job: consuming ExecutorJob) {
        scheduler.enqueue(UnownedJob(job), on: .actor(self))
    }
}
