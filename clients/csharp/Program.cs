using System;
using System.Diagnostics;
using System.Text.RegularExpressions;
using System.Threading.Tasks;
using Miniapi;

/// <summary>Program tests a webhook that refuses ConfigMaps without an owner. In a project, Kubectl is the Kubernetes client
/// of C#, KubernetesClient, and the class is one of xUnit or NUnit.</summary>
public static class Program
{
    private const string Configuration = @"
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: owners}
webhooks:
- name: owners.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {service: {namespace: default, name: webhook, path: /validate}}
  rules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
  objectSelector: {matchLabels: {checked: 'yes'}}
";

    public static void Main() => RunAsync().GetAwaiter().GetResult();

    private static async Task RunAsync()
    {
        using (var webhooks = new Webhooks(Validate))
        using (var host = new Host())
        using (var server = await host.StartServerAsync($@"{{""setup"": {{""trace"": true, ""handler"": {{
            ""address"": ""{webhooks.Address}"", ""services"": [{{""namespace"": ""default"", ""name"": ""webhook""}}]}}}}}}"))
        {
            Kubectl(server, "apply -f -", Configuration);
            Console.WriteLine(Kubectl(server, "create -f -", ConfigMap("one", "checked: 'yes'")));
            Console.WriteLine(Kubectl(server, "create -f -", ConfigMap("two", "checked: 'yes', owner: ann")));
            Console.WriteLine(Kubectl(server, "create -f -", ConfigMap("three", "checked: 'no'")));
            Console.WriteLine(await server.WhyAsync("ValidatingWebhookConfiguration/owners", "configmaps", "default", "three"));
            await server.ResetAsync();
            Console.WriteLine(Kubectl(server, "get configmaps -o name"));
            try { await host.StartServerAsync("{\"flags\": [\"--no-such-flag\"]}"); }
            catch (HostException refusal) { Console.WriteLine(refusal.Message); }
        }
    }

    private static string Validate(string path, string review)
    {
        var uid = Regex.Match(review, "\"uid\":\"([^\"]*)\"").Groups[1].Value; // the first uid is that of the request
        var allowed = review.Contains("\"owner\":") ? "true" : "false";
        return $@"{{""apiVersion"": ""admission.k8s.io/v1"", ""kind"": ""AdmissionReview"", ""response"": {{
            ""uid"": ""{uid}"", ""allowed"": {allowed}, ""status"": {{""message"": ""who owns it?""}}}}}}";
    }

    private static string ConfigMap(string name, string labels) =>
        $"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, labels: {{{labels}}}}}";

    private static string Kubectl(Server server, string arguments, string input = "")
    {
        var kubectl = Process.Start(new ProcessStartInfo("kubectl", $"--kubeconfig {server.Kubeconfig} {arguments}")
        {
            UseShellExecute = false, RedirectStandardInput = true, RedirectStandardOutput = true, RedirectStandardError = true,
        });
        kubectl.StandardInput.Write(input);
        kubectl.StandardInput.Close();
        var output = kubectl.StandardOutput.ReadToEnd() + kubectl.StandardError.ReadToEnd();
        kubectl.WaitForExit();
        return output.Trim();
    }
}
