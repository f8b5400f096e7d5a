import {
  type ApiException,
  CoreV1Api,
  CustomObjectsApi,
  KubeConfig,
  KubernetesObjectApi,
} from "@kubernetes/client-node";

/** Returns the configuration of @kubernetes/client-node that a kubeconfig has. */
export function configOf({ kubeconfig }: { kubeconfig: string }): KubeConfig {
  const config = new KubeConfig();
  config.loadFromString(kubeconfig);
  return config;
}

/** Returns clients for built-in, custom and all objects. */
export function clientsOf(server: { kubeconfig: string }) {
  const config = configOf(server);
  return {
    core: config.makeApiClient(CoreV1Api),
    custom: config.makeApiClient(CustomObjectsApi),
    objects: KubernetesObjectApi.makeApiClient(config),
  };
}

/** Returns the Status with which the server refuses a request. */
export async function refusal(request: Promise<unknown>): Promise<{ code: number; reason: string; message: string }> {
  const answer = await request.then(
    (answer) => {
      throw new Error(`want a refusal, got ${JSON.stringify(answer)}`);
    },
    (error: ApiException<string>) => error,
  );
  if (typeof answer.body !== "string") {
    throw answer;
  }
  return JSON.parse(answer.body);
}
