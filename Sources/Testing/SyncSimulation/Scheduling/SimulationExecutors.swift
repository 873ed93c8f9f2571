/// Where the tasks of a simulation run: given as a preference, it takes their jobs, those of their child tasks, and
/// those of ordinary actors that they call.
public final class SimulationTaskExecutor: TaskExecutor {
    private let scheduler: SimulationScheduler

    init(scheduler: SimulationScheduler) {
        self.scheduler = scheduler
    }

    public func enqueue(_ job: consuming ExecutorJob) {
        scheduler.enqueue(UnownedJob(job), on: .task(self))
    }
}

/// Where one actor of a simulation runs. Its jobs stand in the same queue as all others, so that a call from actor to
/// actor is a place where something else may come between.
public final class SimulationSerialExecutor: SerialExecutor {
    private let scheduler: SimulationScheduler

    init(scheduler: SimulationScheduler) {
        self.scheduler = scheduler
    }

    public func enqueue(_ job: consuming ExecutorJob) {
        scheduler.enqueue(UnownedJob(job), on: .actor(self))
    }
}
