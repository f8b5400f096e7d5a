using System;
using System.Diagnostics;
using System.IO;
using System.Net;
using System.Net.Http;
using System.Net.Http.Headers;
using System.Net.Sockets;
using System.Runtime.Serialization;
using System.Runtime.Serialization.Json;
using System.Text;
using System.Threading.Tasks;

namespace Miniapi
{
    /// <summary>Host is a process "miniapi host", which runs API servers. It ends with this process, however that ends,
    /// because it then reads the end of its standard input.</summary>
    public sealed class Host : IDisposable
    {
        private readonly Process process;
        private readonly HttpClient client;

        /// <summary>Starts the program, by default the one that the variable MINIAPI names, or the one in the PATH.</summary>
        public Host(string program = null)
        {
            program = program ?? Environment.GetEnvironmentVariable("MINIAPI") ?? "miniapi";
            process = Process.Start(new ProcessStartInfo(program, "host")
            {
                UseShellExecute = false, RedirectStandardInput = true, RedirectStandardOutput = true,
            });
            var line = process.StandardOutput.ReadLine();
            if (line == null) throw new InvalidOperationException($"{program} host ended before it was ready");
            var hello = Json.Read<Hello>(line);
            if (hello.Protocol != "v1") throw new InvalidOperationException($"{program} host speaks protocol {hello.Protocol}, want v1");
            client = new HttpClient { BaseAddress = new Uri(hello.Address) };
            client.DefaultRequestHeaders.Authorization = new AuthenticationHeaderValue("Bearer", hello.Token);
        }

        /// <summary>Starts a server. The options are JSON, as docs/control.md describes them.</summary>
        public async Task<Server> StartServerAsync(string options = "{\"setup\":{}}")
        {
            var server = Json.Read<Server>(await CallAsync(HttpMethod.Post, "/v1/servers", options));
            server.Host = this;
            return server;
        }

        /// <summary>Makes a request. A refusal is a HostException with the message of the host.</summary>
        public async Task<string> CallAsync(HttpMethod method, string path, string body = null)
        {
            var request = new HttpRequestMessage(method, path);
            if (body != null) request.Content = new StringContent(body, Encoding.UTF8, "application/json");
            using (var response = await client.SendAsync(request))
            {
                var text = await response.Content.ReadAsStringAsync();
                if (!response.IsSuccessStatusCode) throw new HostException(Json.Read<Refusal>(text).Message);
                return text;
            }
        }

        public void Dispose()
        {
            process.StandardInput.Close(); // the host stops its servers, removes their files and ends
            process.WaitForExit();
            client.Dispose();
        }
    }

    /// <summary>Server is an API server. Give its kubeconfig to the Kubernetes client.</summary>
    [DataContract]
    public sealed class Server : IDisposable
    {
        internal Host Host;

        [DataMember(Name = "id")] public string Id;
        [DataMember(Name = "url")] public string Url;
        [DataMember(Name = "kubeconfig")] public string Kubeconfig;

        /// <summary>Brings back the objects that the server had at its start, in milliseconds.</summary>
        public Task ResetAsync() => Host.CallAsync(HttpMethod.Post, $"/v1/servers/{Id}/reset");

        /// <summary>Returns sentences that say why a webhook, such as "ValidatingWebhookConfiguration/limits", was called
        /// for an object, or why it wasn't.</summary>
        public async Task<string> WhyAsync(string webhook, string resource, string ns, string name)
        {
            var query = $"webhook={Uri.EscapeDataString(webhook)}&resource={resource}&namespace={ns}&name={name}";
            var why = Json.Read<Why>(await Host.CallAsync(HttpMethod.Get, $"/v1/servers/{Id}/why?{query}"));
            return string.Join("\n", Array.ConvertAll(why.Answers ?? new Answer[0], answer => answer.Sentence));
        }

        public void Dispose() => Host.CallAsync(HttpMethod.Delete, $"/v1/servers/{Id}").GetAwaiter().GetResult();
    }

    /// <summary>Webhooks answers the calls of webhooks by a function, which gets the path and the AdmissionReview, and
    /// returns the response for the review. It serves plain HTTP on loopback; the host serves HTTPS for it.</summary>
    public sealed class Webhooks : IDisposable
    {
        private readonly HttpListener listener = new HttpListener();

        public string Address { get; }

        public Webhooks(Func<string, string, string> handle)
        {
            var free = new TcpListener(IPAddress.Loopback, 0);
            free.Start();
            Address = $"http://127.0.0.1:{((IPEndPoint)free.LocalEndpoint).Port}";
            free.Stop();
            listener.Prefixes.Add(Address + "/");
            listener.Start();
            Task.Run(() => ServeAsync(handle));
        }

        private async Task ServeAsync(Func<string, string, string> handle)
        {
            while (true)
            {
                HttpListenerContext call;
                try { call = await listener.GetContextAsync(); }
                catch (Exception) when (!listener.IsListening) { return; }
                new Task(() => Answer(call, handle)).Start();
            }
        }

        private static void Answer(HttpListenerContext call, Func<string, string, string> handle)
        {
            byte[] answer;
            try
            {
                var review = new StreamReader(call.Request.InputStream, Encoding.UTF8).ReadToEnd();
                answer = Encoding.UTF8.GetBytes(handle(call.Request.Url.AbsolutePath, review));
            }
            catch (Exception error)
            {
                call.Response.StatusCode = 500;
                answer = Encoding.UTF8.GetBytes(error.Message);
            }
            call.Response.Close(answer, false);
        }

        public void Dispose() => listener.Close();
    }

    public sealed class HostException : Exception
    {
        public HostException(string message) : base(message) { }
    }

    [DataContract]
    internal sealed class Hello
    {
        [DataMember(Name = "protocol")] public string Protocol;
        [DataMember(Name = "address")] public string Address;
        [DataMember(Name = "token")] public string Token;
    }

    [DataContract]
    internal sealed class Refusal
    {
        [DataMember(Name = "message")] public string Message;
    }

    [DataContract]
    internal sealed class Why
    {
        [DataMember(Name = "answers")] public Answer[] Answers;
    }

    [DataContract]
    internal sealed class Answer
    {
        [DataMember(Name = "sentence")] public string Sentence;
    }

    internal static class Json
    {
        public static T Read<T>(string text)
        {
            using (var stream = new MemoryStream(Encoding.UTF8.GetBytes(text)))
                return (T)new DataContractJsonSerializer(typeof(T)).ReadObject(stream);
        }
    }
}
