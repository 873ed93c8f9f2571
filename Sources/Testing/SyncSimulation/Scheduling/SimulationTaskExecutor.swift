/// The executor of a simulation's tasks. As a task executor preference, it runs their jobs, those of their child tasks,
/// and those of the default actors that they call.
public final class SimulationTaskExecutor: TaskExecutor {
    private let scheduler: SimulationScheduler

    init(scheduler: SimulationScheduler) {
        self.scheduler = scheduler
    }

    public func enqueue(_ job: consuming ExecutorJob) {
        scheduler.enqueue(UnownedJob(job), on: .task(self))
    }
}
