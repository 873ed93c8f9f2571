import SyncModel

extension SyncEngine {
    /// Starts a request in its own task, which posts its result to the mailbox.
    func begin(_ request: EngineRequest, as serial: Serial) {
        let mailbox = mailbox
        let transport = transport
        switch request {
        case .hello:
            tasks[serial] = runtime.spawn {
                let result: Result<ServerHello, TransportFailure>
                do throws(TransportFailure) {
                    result = .success(try await transport.hello())
                } catch {
                    result = .failure(error)
                }
                mailbox.post(.server(.helloEnded(serial, result)))
            }
        case .push(let request):
            tasks[serial] = runtime.spawn {
                let result: Result<PushReply, TransportFailure>
                do throws(TransportFailure) {
                    result = .success(try await transport.push(request))
                } catch {
                    result = .failure(error)
                }
                mailbox.post(.server(.pushEnded(serial, result)))
            }
        case .pull(let request):
            tasks[serial] = runtime.spawn {
                let result: Result<PullReply, TransportFailure>
                do throws(TransportFailure) {
                    result = .success(try await transport.pull(request))
                } catch {
                    result = .failure(error)
                }
                mailbox.post(.server(.pullEnded(serial, request.space, result)))
            }
        case .hints(let spaces):
            tasks[serial] = runtime.spawn {
                let wanted = Set(spaces)
                do {
                    for try await hint in transport.hints(for: spaces) where wanted.contains(hint.space) {
                        mailbox.post(.server(.hint(serial, hint)))
                    }
                    mailbox.post(.server(.hintsEnded(serial, "the server closed the stream")))
                } catch {
                    let pause = (error as? TransportFailure)?.retryAfter
                    mailbox.post(.server(.hintsEnded(serial, "\(error)", retryAfter: pause)))
                }
            }
        }
    }
}
